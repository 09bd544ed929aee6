package boltkv

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// number is a Decoder.
func number(value []byte) (any, int, error) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	return n, 8, err
}

// shownAtOnce returns the numbers under keys, of one trip, as a page reads them.
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
			continue // It is not there yet.
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

// Pairs of keys are raised together, by one writer each, on a store that has its tables moved to
// its tree all the time, and whose cache has room for some of them. So readers find what they
// ask for in all places.
func TestStore_Cache_NobodySeesWhatIsOlderThanACommit(t *testing.T) {
	const pairs, readers = 40, 4
	for _, cache := range []int{-1, 1 << 14, 1 << 20} {
		t.Run(fmt.Sprint(cache), func(t *testing.T) {
			s, err := openWith(filepath.Join(t.TempDir(), "store.db"), Options{Durability: Unsynced, Cache: cache}, func(s *Store) {
				s.limits.turn, s.limits.tick = 2000, time.Millisecond
			})
			if err != nil {
				t.Fatal(err)
			}
			var acknowledged [pairs]atomic.Int64
			keys := func(pair int) (a, b string) { return fmt.Sprint("a", pair), fmt.Sprint("b", pair) }
			writers, ended := sync.WaitGroup{}, make(chan struct{})
			for w := range 4 {
				writers.Go(func() {
					for n := int64(1); n <= int64(proof.Size(60, 3000)); n++ {
						for pair := w; pair < pairs; pair += 4 {
							a, b := keys(pair)
							text := []byte(fmt.Sprint(n))
							if err := s.Do(context.Background(), []kv.Op{kv.OpSet(a, text), kv.OpSet(b, text)}); err != nil {
								t.Error(err)
							}
							acknowledged[pair].Store(n)
							if got := shownAtOnce(t, s, a)[0]; got != n {
								t.Errorf("the writer of %d is shown %d", n, got)
							}
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
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
