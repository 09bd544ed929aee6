package timeline_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

func cost(t testing.TB, f func(p *pages) error, p *pages) kv.Cost {
	t.Helper()
	old := ctx
	defer func() { ctx = old }()
	mctx, m := kv.Metered(ctx)
	ctx = mctx
	must(t, f(p))
	return m.Cost()
}

func readPage(n int) func(*pages) error {
	return func(p *pages) error {
		l, err := p.newest.Page(ctx, "", n)
		if err == nil && len(l.Items) != n {
			err = fmt.Errorf("a page of %d", len(l.Items))
		}
		return err
	}
}

func TestRing_Page_TakesOneTripWhereNothingIsNewAndTwoHoweverManyEntriesAreStale(t *testing.T) {
	for _, stale := range []int{0, 30, 70} {
		for seed := range proof.Part(t, []uint64{1}, []uint64{1, 2, 3}) {
			t.Run(fmt.Sprint(stale, "%/", seed), func(t *testing.T) {
				s := plain{memkv.New(memkv.Options{})}
				p := closing(t, openPages(s, timeline.Shape{}))
				rng := rand.New(rand.NewPCG(seed, 1))
				made := fillRing(t, p, rng, 2000, stale)
				other := closing(t, openPages(s, timeline.Shape{}))
				if c := cost(t, readPage(20), other); c.Trips > 3 {
					t.Errorf("the first page of a process: %v", c)
				}
				if c := cost(t, readPage(20), other); c.Trips != 1 {
					t.Errorf("the next page: %v", c)
				}
				// the positions right after a block was opened are the worst
				for i := range 70 {
					fillSome(t, p, rng, made, stale, i)
					if c := cost(t, readPage(20), p); c.Trips > 2 {
						t.Errorf("after %d more: %v", i, c)
					}
					if c := cost(t, readPage(20), p); c.Trips != 1 {
						t.Errorf("again after %d more: %v", i, c)
					}
				}
			})
		}
	}
}

// fillRing makes n entries, stale percent of them of records that have one.
func fillRing(t testing.TB, p *pages, rng *rand.Rand, n, stale int) *int {
	made := new(int)
	for i := range n {
		fillSome(t, p, rng, made, stale, i)
	}
	return made
}

func fillSome(t testing.TB, p *pages, rng *rand.Rand, made *int, stale, i int) {
	if *made > 100 && rng.IntN(100) < stale {
		p.edit(t, fmt.Sprint("p", *made-1-rng.IntN(100)), func(p *page) { p.Body = fmt.Sprint("again", i, rng.Uint64()) })
		return
	}
	p.create(t, fmt.Sprint("p", *made), "ann", "text")
	*made++
}
