package posttree_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/examples/posttree"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var ctx = context.Background()

// Each name is the position of its node.
func Example() {
	tree := posttree.New(memkv.New(memkv.Options{}))
	for _, m := range []posttree.Member{{50, "ann"}, {20, "bob"}, {70, "cid"}, {30, "dan"}, {60, "eve"}} {
		name, err := tree.Insert(ctx, m)
		if err != nil {
			fmt.Println(err)
		}
		fmt.Printf("%-7s %s\n", name, m.ID)
	}
	top, err := tree.Top(ctx, 3)
	fmt.Println(top, err)
	// Output:
	// key0    ann
	// key00   bob
	// key01   cid
	// key001  dan
	// key010  eve
	// [{70 cid} {60 eve} {50 ann}] <nil>
}

// Rising scores make a chain, which ends with the longest key that a store takes.
func Example_ascending() {
	tree := posttree.New(memkv.New(memkv.Options{}))
	for i := range 1000 {
		name, err := tree.Insert(ctx, posttree.Member{Score: int64(i), ID: "m"})
		if err != nil {
			fmt.Println(i, "are in, and then:", errors.Is(err, kv.ErrBadKey), len(name))
			return
		}
	}
	// Output: 247 are in, and then: true 251
}

func TestTree_Top_IsTheOrderOfTheScores(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	tree := posttree.New(memkv.New(memkv.Options{}))
	var want []posttree.Member
	for i := range 500 {
		m := posttree.Member{Score: rng.Int64N(1e9) - 5e8, ID: fmt.Sprint(i)}
		proof.Done(t)(tree.Insert(ctx, m))
		want = append(want, m)
	}
	slices.SortFunc(want, func(a, b posttree.Member) int { return cmp.Compare(b.Score, a.Score) })
	for _, n := range []int{0, 1, 20, 500, 501} {
		got, err := tree.Top(ctx, n)
		proof.Must(t, err)
		proof.NoDiff(t, gocmp.Diff(want[:min(n, len(want))], got, equateEmpty), "top %d", n)
	}
}

var equateEmpty = gocmp.Transformer("list", func(ms []posttree.Member) string { return fmt.Sprint(ms) })

func TestTree_Insert_LosesNoneOfManyAtOnce(t *testing.T) {
	tree := posttree.New(memkv.New(memkv.Options{}))
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 50 {
				proof.Ends(t, nil)(tree.Insert(ctx, posttree.Member{Score: int64(i * 7 % 50), ID: fmt.Sprint(w, i)}))
			}
		})
	}
	wg.Wait()
	got, err := tree.Top(ctx, 1000)
	proof.Must(t, err)
	ids := map[string]bool{}
	for _, m := range got {
		ids[m.ID] = true
	}
	if len(ids) != 400 || len(got) != 400 {
		t.Errorf("%d members, %d different ones; want 400", len(got), len(ids))
	}
}

func TestTree_BytesThatAreNoNodeAreCorrupt(t *testing.T) {
	s := memkv.New(memkv.Options{})
	proof.Done(t)(kv.One(ctx, s, kv.OpSet(posttree.Root, []byte("x"))))
	_, err := posttree.New(s).Insert(ctx, posttree.Member{Score: 1, ID: "a"})
	if !errors.Is(err, kvmodel.ErrCorrupt) || !strings.Contains(fmt.Sprint(err), `"x" is no node`) {
		t.Error("insert:", err)
	}
	proof.Ends(t, kvmodel.ErrCorrupt)(posttree.New(s).Top(ctx, 1))
}
