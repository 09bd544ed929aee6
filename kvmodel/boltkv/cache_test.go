package boltkv

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func number(value []byte) (any, int, error) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	return n, 8, err
}

func shownAtOnce(t *testing.T, s kv.Store, keys ...string) []int64 {
	t.Helper()
	results, err := kv.GetDecoded(context.Background(), kv.Near(s), number, keys...)
	if err != nil {
		t.Error(err)
		return make([]int64, len(keys))
	}
	all := make([]int64, len(keys))
	for i, r := range results {
		if r.Err != nil {
			continue
		}
		n, err := kv.Decoder(number).Of(r)
		if err != nil {
			t.Error(err)
			continue
		}
		all[i] = n.(int64)
	}
	return all
}

// Each writer raises a pair of keys together. The cache holds some, and the mover runs all the
// time, so readers find keys in all places.
func TestStore_Cache_NobodySeesWhatIsOlderThanACommit(t *testing.T) {
	const pairs, readers = 40, 4
	for _, cache := range []int{-1, 1 << 14, 1 << 20} {
		t.Run(fmt.Sprint(cache), func(t *testing.T) {
			s := need(openWith(filepath.Join(t.TempDir(), "store.db"), Options{Durability: Unsynced, Cache: cache}, func(s *Store) {
				s.limits.turn, s.limits.tick = 2000, time.Millisecond
			}))
			var acknowledged [pairs]atomic.Int64
			keys := func(pair int) (a, b string) { return fmt.Sprint("a", pair), fmt.Sprint("b", pair) }
			writers, ended := sync.WaitGroup{}, make(chan struct{})
			for w := range 4 {
				writers.Go(func() {
					for n := int64(1); n <= int64(proof.Size(60, 3000)); n++ {
						for pair := w; pair < pairs; pair += 4 {
							a, b := keys(pair)
							text := []byte(fmt.Sprint(n))
							proof.Is(t, s.Do(context.Background(), []kv.Op{kv.OpSet(a, text), kv.OpSet(b, text)}), nil)
							acknowledged[pair].Store(n)
							proof.Equal(t, shownAtOnce(t, s, a)[0], n, "the writer")
						}
					}
				})
			}
			var reading sync.WaitGroup
			for range readers {
				reading.Go(func() {
					for pair := 0; ; pair = (pair + 7) % pairs {
						select {
						case <-ended:
							return
						default:
						}
						a, b := keys(pair)
						least := acknowledged[pair].Load()
						if got := shownAtOnce(t, s, a, b); got[0] < least || got[0] != got[1] {
							t.Errorf("%d was acknowledged, and a trip shows %d and %d", least, got[0], got[1])
						}
					}
				})
			}
			writers.Wait()
			close(ended)
			reading.Wait()
			closes(t, s)
		})
	}
}

func TestStore_Near_AnswersWithoutATripWhatItWouldByOne(t *testing.T) {
	clock := time.Unix(1e9, 0)
	s := need(openWith(filepath.Join(t.TempDir(), "store.db"), Options{Now: func() time.Time { return clock }}, func(s *Store) {
		s.limits.tick = 10 * time.Millisecond
	}))
	defer s.Close()
	ctx, counted := context.Background(), &tripping{Store: s}
	tenant := need(kv.Prefix(s, "t"))
	ops := []kv.Op{kv.OpSet("a", []byte("1")), kv.OpSet("b", []byte("2")).For(time.Minute), kv.OpSet("t:a", []byte("3"))}
	must(s.Do(ctx, ops))
	need(kv.GetDecoded(ctx, kv.Near(s), number, "a", "b", "t:a"))
	show := func(what string, s kv.Store, trips int, want string, keys ...string) {
		t.Helper()
		before := counted.trips
		results, _ := kv.GetDecoded(ctx, kv.Near(s), number, keys...)
		var got []string
		for _, r := range results {
			switch {
			case errors.Is(r.Err, kv.ErrBadKey):
				got = append(got, "bad")
			case errors.Is(r.Err, kv.ErrNotFound):
				got = append(got, "absent")
			default:
				got = append(got, fmt.Sprintf("%s %v %v", r.Value, r.Decoded, r.Err))
			}
		}
		if diff := cmp.Diff(want, fmt.Sprint(got)); diff != "" || counted.trips-before != trips {
			t.Errorf("%s: %d trips, want %d; mismatch (-want +got):\n%s", what, counted.trips-before, trips, diff)
		}
	}
	show("keys of the cache", counted, 0, "[1 1 <nil> 2 2 <nil>]", "a", "b")
	show("a tenant's", tenant, 0, "[3 3 <nil>]", "a")
	show("a tenant's empty one", tenant, 0, "[bad 3 3 <nil>]", "", "a")
	show("an empty one", counted, 1, "[bad]", "")
	for s.goodFilter() == nil {
		time.Sleep(time.Millisecond)
	}
	show("one that is not there", counted, 0, "[1 1 <nil> absent]", "a", "c")
	show("a bad one", counted, 1, "[1 1 <nil> bad]", "a", "c d")
	clock = clock.Add(time.Hour)
	show("one that has expired", counted, 0, "[1 1 <nil> absent]", "a", "b")
	must(s.Do(ctx, []kv.Op{kv.OpSet("c", []byte("4")), kv.OpDelete("a")}))
	show("keys of the last commit", counted, 1, "[absent 4 4 <nil>]", "a", "c")
}

type tripping struct {
	*Store
	trips int
}

func (c *tripping) Memory(ctx context.Context) (kv.Memory, string) { return c.Store.Memory(ctx) }

func (c *tripping) Do(ctx context.Context, ops []kv.Op) error {
	c.trips++
	return c.Store.Do(ctx, ops)
}
