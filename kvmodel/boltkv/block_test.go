package boltkv

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// newTree returns a function that changes the tree of a store with no log.
func newTree(t *testing.T) (s *Store, update func(func(*tree))) {
	t.Helper()
	s = openStill(t, filepath.Join(t.TempDir(), "store.db"), nil)
	return s, func(f func(*tree)) {
		t.Helper()
		must(s.update(f))
	}
}

// randomValue is like others of its kind, or random.
func randomValue(rng *rand.Rand) []byte {
	switch n := rng.IntN(40); {
	case n == 0:
		return bytes.Repeat([]byte("a long value, "), rng.IntN(2000))
	case n < 4:
		return Noise(rng.IntN(3000))
	case n < 10:
		return nil
	default:
		return fmt.Appendf(nil, "a record of %d with %d: %s", rng.IntN(10), rng.IntN(1000), strings.Repeat("text ", rng.IntN(20)))
	}
}

func TestTree_HoldsWhatWasSet(t *testing.T) {
	for range proof.Size(5, 100) {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 0))
		s, update := newTree(t)
		want := make(map[string]string)
		keys := func(n int) (keys []string) {
			if at := rng.IntN(2000); rng.IntN(4) == 0 { // a run
				for i := range n {
					keys = append(keys, fmt.Sprintf("m%d:%06d", at%3, at+i))
				}
				return keys
			}
			for range n {
				keys = append(keys, fmt.Sprintf("m%d:%06d", rng.IntN(3), rng.IntN(3000)))
			}
			slices.Sort(keys)
			return keys
		}
		for range 60 {
			removes := rng.IntN(4) == 0
			update(func(tr *tree) {
				for _, key := range keys(1 << rng.IntN(10)) {
					if removes {
						tr.set([]byte(key), nil)
						delete(want, key)
						continue
					}
					value := randomValue(rng)
					tr.set([]byte(key), (&item{value: value, version: 7}).encode(key, nil))
					want[key] = string(value)
				}
			})
			got := make(map[string]string)
			if fail := s.view(func(tr *tree) {
				var r blockReader
				tr.eachBlock(nil, 1<<30, func(first, buf []byte) {
					for r.must(first, buf); r.next(); {
						it, ok := tr.find(r.fullKey())
						if it.damaged != nil || !ok {
							t.Fatalf("seed %d: %s: %+v, %v", seed, r.fullKey(), it, ok)
						}
						got[string(r.fullKey())] = string(it.value)
					}
				})
				for i := range 100 {
					key := fmt.Sprintf("m%d:%06d", i%3, rng.IntN(3000))
					if _, ok := tr.find([]byte(key)); ok {
						if _, ok := want[key]; !ok {
							t.Errorf("seed %d: %s is found", seed, key)
						}
					}
				}
			}); fail != nil {
				t.Fatal(fail)
			}
			if !maps.Equal(got, want) {
				t.Fatalf("seed %d: %d items, want %d", seed, len(got), len(want))
			}
			if st, err := s.stateNow(); err != nil || st.items != uint64(len(want)) {
				t.Fatalf("seed %d: it counts %d items, want %d (%v)", seed, st.items, len(want), err)
			}
		}
		update(func(tr *tree) {
			for key := range want {
				tr.set([]byte(key), nil)
			}
		})
		if fail := s.view(func(tr *tree) {
			if n := tr.items.Stats().KeyN; n != 0 {
				t.Errorf("seed %d: %d blocks without items", seed, n)
			}
		}); fail != nil {
			t.Fatal(fail)
		}
	}
}
