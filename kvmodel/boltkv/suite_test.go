package boltkv

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestStore_KeepsTheContract(t *testing.T) {
	t.Parallel()
	dir, clock := t.TempDir(), newClock()
	maker := kvtest.Maker{
		Kept:    true,
		Advance: clock.Advance,
		Open: func(t testing.TB, name string) kv.Store {
			s, err := Open(filepath.Join(dir, name), Options{Now: clock.Now})
			must(err)
			return s
		},
	}
	copies := 0
	if !proof.Race { // The copies need no detector, and their cases take twice as long.
		maker.Abandon = func(t testing.TB, name string) string {
			copies++
			copied := fmt.Sprint("copy", copies)
			copyStore(t, filepath.Join(dir, name), filepath.Join(dir, copied))
			return copied
		}
	}
	kvtest.Run(t, maker)
}

func TestStore_KeepsTheContractFromItsCache(t *testing.T) {
	t.Parallel()
	dir, clock := t.TempDir(), newClock()
	kvtest.Run(t, kvtest.Maker{
		Kept:    true,
		Shown:   true,
		Advance: clock.Advance,
		Open: func(t testing.TB, name string) kv.Store {
			s, err := Open(filepath.Join(dir, name), Options{Now: clock.Now, Durability: Unsynced})
			must(err)
			return s
		},
	})
}

// copyStore copies the files of an open store until they stay the same, since the store may be
// moving its table.
func copyStore(t testing.TB, from, to string) {
	t.Helper()
	last := files(from)
	for {
		now := files(from)
		if maps.Equal(now, last) {
			break
		}
		last = now
	}
	for end, data := range last {
		must(os.WriteFile(to+end, []byte(data), 0o600))
	}
}

// restless has a clock that advances with each trip. It carries out every third trip in a
// transaction, undoes every second one of these, and reopens after every 100 trips.
type restless struct {
	kv.Store
	clock  *proof.Clock
	reopen func(kv.Store) kv.Store
	trips  int
}

var errChangedMind = errors.New("the change is not wanted")

func (r *restless) Do(ctx context.Context, ops []kv.Op) error {
	r.trips++
	r.clock.Advance(time.Duration(r.trips%7) * 10 * time.Minute)
	if r.trips%100 == 0 {
		r.Store = r.reopen(r.Store)
	}
	if r.trips%3 > 0 {
		return r.Store.Do(ctx, ops)
	}
	var unwanted error
	if r.trips%2 == 0 {
		unwanted = errChangedMind
	}
	err := kv.PowersOf(r.Store).Atomic(ctx, func(s kv.Store) error { return errors.Join(s.Do(ctx, ops), unwanted) })
	if errors.Is(err, errChangedMind) {
		return nil
	}
	return err
}

func TestStore_RandomOpsAnswerAsMemkvDoes(t *testing.T) {
	proof.Alone(t)
	path, clock, other := filepath.Join(t.TempDir(), "store.db"), newClock(), newClock()
	opts := Options{Now: clock.Now, Durability: Unsynced}
	quickly := false
	file := &restless{Store: openAt(t, path, opts), clock: clock, reopen: func(s kv.Store) kv.Store {
		must(s.Close())
		if quickly = !quickly; quickly {
			return need(openQuick(path, opts))
		}
		return openAt(t, path, opts)
	}}
	mem := &restless{Store: memkv.New(memkv.Options{Now: other.Now}), clock: other, reopen: func(s kv.Store) kv.Store { return s }}
	seed := uint64(time.Now().UnixNano())
	for i := range uint64(8) {
		proof.Metamorphic(t, seed+i, 500, proof.Named{Name: "memkv", Store: mem}, proof.Named{Name: "boltkv", Store: file})
	}
	must(file.Close())
}

func TestWalk_NamesWhatIsInTheTreeAndInTheTablesInOrder(t *testing.T) {
	proof.Alone(t)
	path, rng := filepath.Join(t.TempDir(), "file"), rand.New(rand.NewPCG(1, 1))
	there := map[string]bool{}
	change := func(s *Store, n int) {
		var ops []kv.Op
		for range n {
			key := fmt.Sprintf("%c:%04d", 'a'+rng.IntN(3), rng.IntN(4000))
			if there[key] && rng.IntN(2) == 0 {
				delete(there, key)
				ops = append(ops, kv.OpDelete(key))
			} else {
				there[key] = true
				ops = append(ops, kv.OpSet(key, []byte("v")))
			}
		}
		must(s.Do(t.Context(), ops))
	}
	for _, size := range []int{9000, 4000, 500} {
		s, err := Open(path, Options{})
		must(err)
		change(s, size)
		for range 60 {
			begin := []string{"", "a:", "b:", "b:1", "c:39", "d:"}[rng.IntN(6)]
			after := []string{"", "a", begin, fmt.Sprintf("b:%04d", rng.IntN(4000)), fmt.Sprintf("c:%03d", rng.IntN(400)), "d"}[rng.IntN(6)]
			var want, got []string
			for key := range there {
				if strings.HasPrefix(key, begin) && key > after {
					want = append(want, key)
				}
			}
			slices.Sort(want)
			err := s.Powers().Walk(t.Context(), begin, after, func(keys []string) error { got = append(got, keys...); return nil })
			proof.Is(t, err, nil)
			proof.NoDiff(t, cmp.Diff(want, got, cmpopts.EquateEmpty()), "begin %q, after %q", begin, after)
		}
		must(s.Close())
	}
}
