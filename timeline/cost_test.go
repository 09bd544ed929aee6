package timeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

// drawn returns a picture as a line of slots, with a
// after each segment.
func drawn(p timeline.Picture) string {
	var line strings.Builder
	for _, segment := range p.Segments {
		for _, slot := range segment.Slots {
			line.WriteByte(".FSMU"[slot])
		}
		line.WriteByte('|')
	}
	return line.String()
}

func pictureOf(t testing.TB, r *timeline.Ring[page]) timeline.Picture {
	t.Helper()
	pictures, err := r.Pictures(ctx, 2000)
	if err != nil || len(pictures) != 1 {
		t.Fatal(len(pictures), "pictures,", err)
	}
	return pictures[0]
}

// filled returns the number of filled slots in the pictures of r.
func filled[T any](t testing.TB, r *timeline.Ring[T]) (n int) {
	t.Helper()
	pictures, err := r.Pictures(ctx, 2000)
	must(t, err)
	for _, p := range pictures {
		n += strings.Count(drawn(p), "F")
	}
	return n
}

func wantPicture(t testing.TB, what string, want string, got timeline.Picture) {
	t.Helper()
	proof.NoDiff(t, cmp.Diff(want, drawn(got)), "%s", what)
}

func TestRing_Pictures_ShowWhatEachSlotHolds(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.Store) {
		p := closing(t, openRing(s, timeline.Shape{Size: 8, Segment: 4}))
		wantPicture(t, "nothing", "....|....|....|", pictureOf(t, p.newest))
		p.createMany(t, "p", 6)
		wantPicture(t, "six, and no number 0", ".FFF|FFF.|....|", pictureOf(t, p.newest))
		p.edit(t, "p1", func(p *page) { p.Body = "moves to 7" })
		must(t, p.Delete(ctx, "p3"))
		wantPicture(t, "one moved and one deleted", ".FSF|SFFF|....|", pictureOf(t, p.newest))
		proof.Done(t)(kv.One(ctx, s, kv.OpIncrement("t:Page:Newest:#n", 1)))
		got := pictureOf(t, p.newest)
		wantPicture(t, "a number was handed out and not used", ".FSF|SFFF|M...|", got)
		entries := 0
		for i, segment := range got.Segments {
			r, _ := kv.One(ctx, s, kv.OpGet(segment.Key))
			if len(r.Value) != segment.Bytes || segment.Key != fmt.Sprint("t:Page:Newest:#s", i) {
				t.Errorf("%s has %d bytes, and the picture says %d", segment.Key, len(r.Value), segment.Bytes)
			}
			entries += segment.Entries
		}
		proof.Equal(t, entries, 7, "the segments")
		if got.Head != 8 || got.Newest != 2 {
			t.Errorf("the head is %d in segment %d, want 8 in 2", got.Head, got.Newest)
		}
		p.createMany(t, "q", 6)
		got = pictureOf(t, p.newest)
		wantPicture(t, "the ring has come around", "FFF.|...F|MFFF|", got)
		firsts := []int64{got.Segments[0].First, got.Segments[1].First, got.Segments[2].First}
		proof.NoDiff(t, cmp.Diff([]int64{12, 4, 8}, firsts), "first numbers")
	})
}

func TestRing_Pictures_TakeThreeTripsAndWriteNothing(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	p := closing(t, openRing(plain{mem}, timeline.Shape{}))
	rng := rand.New(rand.NewPCG(1, 1))
	fillRing(t, p, rng, 1500, 20)
	var wrote atomic.Int64
	s := &broken{Store: plain{mem}, refuses: func(op kv.Op) bool {
		if op.Kind.Writes() {
			wrote.Add(1)
		}
		return false
	}}
	other := closing(t, openRing(s, timeline.Shape{}))
	for _, want := range []int{4, 3} {
		c := cost(t, func(p *pages) error { _, err := p.newest.Pictures(ctx, 2000); return err }, other)
		if c.Trips != want {
			t.Errorf("a picture of a full ring: %v, want %d trips", c, want)
		}
	}
	if err := other.db.Flush(ctx); err != nil || wrote.Load() > 0 {
		t.Errorf("a picture has written %d times, %v", wrote.Load(), err)
	}
}

func TestRing_Pictures_ReadNoMoreRecordsThanTheLimit(t *testing.T) {
	p := closing(t, openRing(plain{memkv.New(memkv.Options{})}, timeline.Shape{Size: 8, Segment: 4}))
	p.createMany(t, "p", 6)
	must(t, p.Delete(ctx, "p0"))
	must(t, p.Delete(ctx, "p4"))
	for limit, want := range map[int]string{-1: ".UUU|UUU.|....|", 0: ".UUU|UUU.|....|", 2: ".UUU|USF.|....|", 9: ".SFF|FSF.|....|"} {
		pictures, err := p.newest.Pictures(ctx, limit)
		must(t, err)
		wantPicture(t, fmt.Sprint("limit ", limit), want, pictures[0])
	}
}

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
