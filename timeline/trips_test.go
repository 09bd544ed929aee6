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

// cost returns what f asks of the store.
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
				p := openPages(s, timeline.Shape{})
				defer p.close(t)
				rng := rand.New(rand.NewPCG(seed, 1))
				made := fillRing(t, p, rng, 2000, stale)
				other := openPages(s, timeline.Shape{})
				defer other.close(t)
				if c := cost(t, readPage(20), other); c.Trips > 3 {
					t.Errorf("the first page of a process: %v", c)
				}
				if c := cost(t, readPage(20), other); c.Trips != 1 {
					t.Errorf("the next page: %v", c)
				}
				// The positions at which a block has just been opened are the worst.
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

// fillRing makes n entries. stale percent of them are of records that have an entry
// already.
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

func bump(id, body string) func(*pages) error {
	return func(p *pages) error {
		_, err := p.Update(ctx, id, func(p *page) error { p.Body = body; return nil })
		return err
	}
}

func TestRing_AnUpdateThatBumpsTakesTwoTrips(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	first := openRing(plain{mem}, timeline.Shape{})
	for i := range 20 {
		first.create(t, fmt.Sprint("p", i), "ann", "text")
	}
	first.close(t)

	p := openRing(plain{mem}, timeline.Shape{})
	defer p.close(t)
	if c := cost(t, bump("p0", "open the journal"), p); c.Trips < 2 {
		t.Error(c)
	}
	if _, err := p.Get(ctx, "p1"); err != nil {
		t.Fatal(err)
	}
	if c := cost(t, bump("p1", "at hand"), p); c.Trips != 2 {
		t.Errorf("with the record at hand: %v", c)
	}
	for i := 2; i < 12; i++ {
		c := cost(t, bump(fmt.Sprint("p", i), "not at hand"), p)
		if want := 2; i > 3 && c.Trips != want {
			t.Errorf("update %d in a row, not at hand: %v", i, c)
		}
	}
	draft := func(p *pages) error {
		_, err := p.Update(ctx, "p12", func(p *page) error { p.Author = "bob"; return nil })
		return err
	}
	if c := cost(t, draft, p); c.Trips != 2 {
		t.Errorf("one that does not bump after all: %v", c)
	}
	if c := cost(t, bump("p13", "again"), p); c.Trips != 3 {
		t.Errorf("one that was not expected to: %v", c)
	}
	wantIDs(t, "after all", append(append(append([]string{"p13"}, names("p", 11, 0)...), names("p", 19, 14)...), "p12"), listed(t, p.newest, "", 20).Items)
}
