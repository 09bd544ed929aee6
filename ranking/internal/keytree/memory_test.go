package keytree

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// wavering is a store with a memory to which each key comes just after it was first asked for.
type wavering struct {
	kv.Store
	asked map[string]bool
}

func (w *wavering) Powers() kv.Powers { return kv.PowersOf(w.Store) }

func (w *wavering) Memory(context.Context) (kv.Memory, string) { return w, "" }

func (w *wavering) Recall(gets []kv.NearGet, results []kv.Result) bool {
	for i, get := range gets {
		r, err := kv.One(ctx, w.Store, kv.OpGet(get.Key))
		if !w.asked[get.Key] || err != nil {
			w.asked[get.Key] = true
			return false
		}
		r.Decoded, _, _ = get.Decode(r.Value)
		results[i] = r
	}
	return true
}

func TestTree_NodesThatComeIntoMemoryDuringAQueryAreWhatAReadFinds(t *testing.T) {
	query := func(r *ranking, s kv.Store, before int) (found Part, n int) {
		found, err := r.At(ctx, s, before, 7, true, Single, Want{})
		if err == nil {
			n, err = r.Count(ctx, s, Between{})
		}
		must(t, err)
		return found, n
	}
	for _, members := range []int{3, 20, 100} {
		r := open(newMem())
		for i := range members {
			r.set(t, fmt.Sprint("m", i), int64(i*i%37))
		}
		for before := 0; before < members; before += 9 {
			want, all := query(r, r.s, before)
			got, n := query(r, &wavering{Store: r.s, asked: map[string]bool{}}, before)
			if diff := cmp.Diff(want.Members, got.Members, cmp.AllowUnexported(Score{})); diff != "" || n != all {
				t.Errorf("%d of %d: counted %d, want %d (-want +got)\n%s", before, members, n, all, diff)
			}
		}
	}
}
