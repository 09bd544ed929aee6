package timeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

type costs struct{ trips, keys, bytes int }

func wantCost(t testing.TB, what string, most costs, f func(context.Context) error) {
	t.Helper()
	mctx, m := kv.Metered(ctx)
	must(t, f(mctx))
	c := m.Cost()
	if c.Trips > most.trips || c.Keys > most.keys || c.Read > most.bytes {
		t.Errorf("%s: %v; want at most %d trips, %d keys and %d bytes", what, c, most.trips, most.keys, most.bytes)
	}
}

func TestEvents_Latest_OfARingReadsWhatIsAskedForAndAFew(t *testing.T) {
	const size = 2000
	// a key is trimmed on every fourth lap
	bytes := func(keys int) int { return keys * 5 * (size + 50) }
	for _, keep := range []int{5, 30, 100} {
		for _, once := range []bool{false, true} {
			t.Run(fmt.Sprint(keep, once), func(t *testing.T) {
				s := plain{memkv.New(memkv.Options{})}
				open := func() *visits {
					return timeline.NewEvents(openDB(t, s), visitSpec(timeline.Numbered, keep, once))
				}
				guest := func(i int) string { return fmt.Sprint(i, strings.Repeat("x", size)) }
				v := open()
				for i := range 3 * keep {
					visited(t, v, "ann", guest(i))
				}
				latest := func(v *visits, owner string, n, want int) func(context.Context) error {
					return func(ctx context.Context) error {
						got, err := v.Latest(ctx, owner, n)
						if err == nil && len(got) != want {
							err = fmt.Errorf("%d events, want %d", len(got), want)
						}
						return err
					}
				}
				for _, n := range []int{1, 4, 20} {
					n := min(n, keep)
					most := costs{1, n + 3, bytes(n + 1)}
					wantCost(t, fmt.Sprintf("the last %d", n), most, latest(v, "ann", n, n))
					most.trips = 2
					wantCost(t, fmt.Sprintf("the last %d, the first time", n), most, latest(open(), "ann", n, n))
				}
				wantCost(t, "of no one", costs{2, 4, 0}, latest(v, "bob", 1, 0))
				other := open()
				for n := 1; n < 4; n++ {
					for i := range n {
						visited(t, other, "ann", guest(1000*n+i))
					}
					wantCost(t, fmt.Sprintf("the last, %d since", n), costs{min(n, 2), 4, bytes(3)}, latest(v, "ann", 1, 1))
				}
			})
		}
	}
}

func TestRing_Page_ReadsKeysInProportionToThePage(t *testing.T) {
	for _, test := range []struct {
		shape timeline.Shape
		keys  func(n int) int // without the records
	}{
		{timeline.Shape{}, func(n int) int { return 4 + n/16 }},
		{timeline.Shape{Size: 100, Segment: 12}, func(n int) int { return 4 + n/3 }},
		{timeline.Shape{Size: 100, Segment: 1}, func(n int) int { return 8 + 4*n }},
	} {
		t.Run(fmt.Sprint(test.shape), func(t *testing.T) {
			p := closing(t, openRing(plain{memkv.New(memkv.Options{})}, test.shape))
			p.createMany(t, "p", 250)
			listed(t, p.newest, "", 1)
			for _, n := range []int{1, 5, 20} {
				wantCost(t, fmt.Sprint("a page of ", n), costs{2, test.keys(n) + n, 1 << 20}, func(ctx context.Context) error {
					_, err := p.newest.Page(ctx, "", n)
					return err
				})
			}
			looked, err := p.newest.Head(ctx)
			must(t, err)
			since := func(ctx context.Context) error { _, err := p.newest.Since(ctx, looked); return err }
			wantCost(t, "since, of nothing new", costs{1, 3, 1 << 20}, since)
			p.create(t, "new", "ann", "text")
			wantCost(t, "since, of one", costs{2, 4, 1 << 20}, since)
		})
	}
}

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
