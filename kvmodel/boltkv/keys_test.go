package boltkv

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestWalk_NamesWhatIsInTheTreeAndInTheTablesInOrder(t *testing.T) {
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
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Fatalf("begin %q, after %q: %v (-want +got)\n%s", begin, after, err, diff)
			}
		}
		must(s.Close())
	}
}
