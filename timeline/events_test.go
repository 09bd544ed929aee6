package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

type visit struct {
	Owner string `json:"o"`
	Guest string `json:"g"`
}

type visits = timeline.Events[visit, string]

func visitSpec(layout timeline.Layout, keep int, once bool) timeline.EventsSpec[visit, string] {
	spec := timeline.EventsSpec[visit, string]{
		Name: "Visit", Key: kvmodel.StringKey[string](), By: func(v *visit) string { return v.Owner },
		Codec: asJSON[visit]{}, Keep: keep, Layout: layout,
	}
	if once {
		spec.Once = func(v *visit) string { return timeline.Text(v.Guest) }
	}
	return spec
}

func eachLayout(t *testing.T, f func(t *testing.T, s kv.Store, layout timeline.Layout)) {
	for name, layout := range map[string]timeline.Layout{"appended": timeline.Appended, "numbered": timeline.Numbered, "packed": timeline.Packed} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, s kv.Store) { f(t, s, layout) })
		})
	}
}

func openDB(t testing.TB, s kv.Store, opts ...kvmodel.Option) *kvmodel.DB {
	t.Helper()
	db, err := kvmodel.Open(s, opts...)
	must(t, err)
	t.Cleanup(func() {
		if err := db.Close(ctx); err != nil {
			t.Error("close:", err)
		}
	})
	return db
}

func guests(t testing.TB, v *visits, owner string, n int) []string {
	t.Helper()
	latest, err := v.Latest(ctx, owner, n)
	must(t, err)
	all := []string{}
	for _, visit := range latest {
		proof.Equal(t, visit.Owner, owner, "an event")
		all = append(all, visit.Guest)
	}
	return all
}

func visited(t testing.TB, v *visits, owner string, who ...string) {
	t.Helper()
	var all []visit
	for _, guest := range who {
		all = append(all, visit{owner, guest})
	}
	must(t, v.Push(ctx, all...))
}

func wantGuests(t testing.TB, v *visits, owner string, n int, want ...string) {
	t.Helper()
	proof.NoDiff(t, cmp.Diff(append([]string{}, want...), guests(t, v, owner, n)), "the last %d of %s", n, owner)
}

func TestEvents_Latest_NewestFirstAndNoMoreThanAreKept(t *testing.T) {
	eachLayout(t, func(t *testing.T, s kv.Store, layout timeline.Layout) {
		v := timeline.NewEvents(openDB(t, s), visitSpec(layout, 10, false))
		wantGuests(t, v, "ann", 5)
		visited(t, v, "ann", "a", "b", "a")
		visited(t, v, "bob", "x")
		wantGuests(t, v, "ann", 5, "a", "b", "a")
		wantGuests(t, v, "ann", 2, "a", "b")
		wantGuests(t, v, "bob", 5, "x")
		for i := range 500 {
			visited(t, v, "ann", fmt.Sprint("g", i))
		}
		wantGuests(t, v, "ann", 50, names("g", 499, 490)...)
		must(t, v.Clear(ctx, "ann"))
		wantGuests(t, v, "ann", 5)
		visited(t, v, "ann", "again")
		wantGuests(t, v, "ann", 5, "again")
	})
}

func TestEvents_Latest_OnceAtItsNewestTime(t *testing.T) {
	eachLayout(t, func(t *testing.T, s kv.Store, layout timeline.Layout) {
		keep, times := 3, 500
		if layout == timeline.Numbered {
			keep, times = 30, 20 // a ring forgets by number, not by guest
		}
		v := timeline.NewEvents(openDB(t, s), visitSpec(layout, keep, true))
		visited(t, v, "ann", "a", "b", "c", "a", "a")
		wantGuests(t, v, "ann", 3, "a", "c", "b")
		for range times {
			visited(t, v, "ann", "b")
		}
		wantGuests(t, v, "ann", 3, "b", "a", "c")
	})
}

// This is just after an hour has begun, when a TTL of an hour changes keys.
func TestEvents_TheClockMayGoBackwards(t *testing.T) {
	eachLayout(t, func(t *testing.T, s kv.Store, layout timeline.Layout) {
		for _, ttl := range []time.Duration{0, time.Hour} {
			c, owner := newClock(), fmt.Sprint("ann", ttl)
			spec := visitSpec(layout, 10, false)
			spec.TTL = ttl
			v := timeline.NewEvents(openDB(t, s, kvmodel.Clock(c.now)), spec)
			visited(t, v, owner, "first")
			for _, back := range []time.Duration{time.Second, 30 * time.Minute} {
				c.move(-back)
				wantGuests(t, v, owner, 10, "first")
				c.move(back)
			}
			c.move(-time.Second)
			visited(t, v, owner, "second")
			for range 2 {
				if got, err := v.Latest(ctx, owner, 10); err != nil || len(got) != 2 {
					t.Errorf("ttl %v: %v, %v; want two", ttl, got, err)
				}
				c.move(time.Second)
			}
		}
	})
}

func TestEvents_AnEventIsGoneAfterItsTTL(t *testing.T) {
	eachLayout(t, func(t *testing.T, s kv.Store, layout timeline.Layout) {
		c := newClock()
		spec := visitSpec(layout, 10, false)
		spec.TTL = time.Hour
		v := timeline.NewEvents(openDB(t, s, kvmodel.Clock(c.now)), spec)
		for i := range 8 {
			visited(t, v, "ann", fmt.Sprint("g", i))
			c.move(20 * time.Minute)
		}
		wantGuests(t, v, "ann", 10, "g7", "g6", "g5")
		c.move(time.Hour)
		wantGuests(t, v, "ann", 10)
	})
}

func TestEvents_Unread_CountsWhatCameSince(t *testing.T) {
	eachLayout(t, func(t *testing.T, s kv.Store, layout timeline.Layout) {
		c := newClock()
		v := timeline.NewEvents(openDB(t, s, kvmodel.Clock(c.now)), visitSpec(layout, 90, true))
		visited(t, v, "ann", "a", "b", "c")
		looked := c.now()
		c.move(time.Second)
		for i := range 40 {
			visited(t, v, "ann", fmt.Sprint("g", i%12), "a")
		}
		for since, want := range map[time.Time]int{looked: 13, c.now(): 0} {
			if n, err := v.Unread(ctx, "ann", since); n != want || err != nil {
				t.Errorf("unread since %v: %d, %v; want %d", since.Sub(looked), n, err, want)
			}
		}
		if n, err := v.Unread(ctx, "ann", time.Time{}); n < 13 || err != nil {
			t.Errorf("unread at all: %d, %v", n, err)
		}
	})
}

func TestEvents_Push_RefusesBadEventsAndKeepsTheRest(t *testing.T) {
	eachLayout(t, func(t *testing.T, s kv.Store, layout timeline.Layout) {
		v := timeline.NewEvents(openDB(t, s), visitSpec(layout, 10, false))
		err := v.Push(ctx, visit{"ann", "a"}, visit{"", "b"}, visit{"bob", strings.Repeat("x", timeline.MaxEvent)}, visit{"cid", "c"})
		if !errors.Is(err, kvmodel.ErrInvalid) || !errors.Is(err, kv.ErrTooLarge) {
			t.Error(err)
		}
		for _, text := range []string{"item 1: Visit: invalid: the event has no owner", "item 2: Visit: value too large"} {
			proof.Contains(t, fmt.Sprint(err), text)
		}
		wantGuests(t, v, "ann", 5, "a")
		wantGuests(t, v, "bob", 5)
		wantGuests(t, v, "cid", 5, "c")
		proof.Ends(t, kvmodel.ErrInvalid)(v.Latest(ctx, "ann", 0))
		if err := v.Push(ctx); err != nil {
			t.Error("nothing:", err)
		}
	})
}

func TestEvents_AnOwnersSpaceIsConstant(t *testing.T) {
	for _, layout := range []timeline.Layout{timeline.Appended, timeline.Numbered, timeline.Packed} {
		mem := memkv.New(memkv.Options{})
		db := openDB(t, plain{mem})
		v := timeline.NewEvents(db, visitSpec(layout, 30, true))
		rng := rand.New(rand.NewPCG(1, 1))
		keys, most := 0, 0
		for i := range proof.Size(20, 100) * 30 {
			visited(t, v, "ann", fmt.Sprint("guest", rng.IntN(100)))
			if i%10 == 0 {
				guests(t, v, "ann", 10)
			}
			must(t, db.Flush(ctx))
			if k, b := space(t, mem); i > 5*30 {
				keys, most = max(keys, k), max(most, b)
			}
		}
		if limit := map[timeline.Layout]int{timeline.Appended: 1, timeline.Numbered: 32, timeline.Packed: 1}[layout]; keys > limit || most > 12_000 {
			t.Errorf("layout %d: at most %d keys and %d bytes", layout, keys, most)
		}
	}
}

// space returns the keys and bytes of s, without the format marker.
func space(t testing.TB, s *memkv.Store) (keys, size int) {
	t.Helper()
	all := slices.DeleteFunc(s.Keys(), func(key string) bool { return key == "format:ringtree" })
	results, err := kv.GetAll(ctx, s, all...)
	must(t, err)
	for i, r := range results {
		size += len(all[i]) + len(r.Value)
	}
	return len(all), size
}

// The random numbers of two events may be equal.
func TestEvents_Push_AnEqualEventIsNotTakenForAnEarlierOne(t *testing.T) {
	c := newClock()
	v := timeline.NewEvents(openDB(t, memkv.New(memkv.Options{}), kvmodel.Clock(c.now)), visitSpec(timeline.Packed, 5, true))
	cryptotest.SetGlobalRandom(t, 1)
	visited(t, v, "ann", "a")
	visited(t, v, "ann", "b")
	c.move(time.Hour)
	cryptotest.SetGlobalRandom(t, 1)
	visited(t, v, "ann", "a")
	wantGuests(t, v, "ann", 5, "a", "b")
}

func TestEvents_AnUnclearPush_IsNeverReportedAsNotMade(t *testing.T) {
	layouts := map[string]timeline.Layout{"appended": timeline.Appended, "numbered": timeline.Numbered, "packed": timeline.Packed}
	for name, layout := range layouts {
		for _, before := range []int{0, 1} {
			t.Run(name, func(t *testing.T) {
				proof.EachStumble(t, func() kv.Store { return memkv.New(memkv.Options{}) }, func(t *testing.T, s *proof.Stumble) {
					synctest.Test(t, func(t *testing.T) {
						db, err := kvmodel.Open(s)
						must(t, err)
						v := timeline.NewEvents(db, visitSpec(layout, 10, false))
						for range before {
							must(t, v.Push(ctx, visit{"owner", "earlier"}))
						}
						limited, cancel := context.WithCancel(ctx)
						s.Refused = cancel
						s.Begin()
						err = v.Push(limited, visit{"owner", "a"}, visit{"owner", "b"})
						time.Sleep(time.Second)
						must(t, s.Rise())
						there := guests(t, v, "owner", 10)
						changed := slices.Contains(there, "a") || slices.Contains(there, "b")
						if proof.Denies(err) && changed || errors.Is(err, kv.ErrUnclear) && errors.Is(err, kv.ErrUnavailable) {
							t.Errorf("%v are there after: %v", there, err)
						}
						must(t, db.Close(ctx))
					})
				})
			})
		}
	}
}

type feedItem struct{ Reader, Page string }

var followers = []string{"bob", "cid", "dan"}

// A feed pushes pages to all followers when they are created.
type feed struct {
	*pages
	items *timeline.Events[feedItem, string]
}

func openFeed(s kv.Store, layout timeline.Layout) *feed {
	p := openQuietly(s)
	f := &feed{p, timeline.NewEvents(p.db, timeline.EventsSpec[feedItem, string]{
		Name: "FeedItem", Key: kvmodel.StringKey[string](), By: func(i *feedItem) string { return i.Reader },
		Once: func(i *feedItem) string { return i.Page }, Codec: asJSON[feedItem]{}, Layout: layout,
	})}
	p.OnChange(func(ctx context.Context, c kvmodel.Change[page, string]) error {
		if !c.Created || c.Record == nil {
			return nil
		}
		var items []feedItem
		for _, reader := range followers {
			items = append(items, feedItem{reader, c.ID})
		}
		return f.items.Push(ctx, items...)
	})
	return f
}

func TestSweep_Feed_EveryFollowerGetsEveryPageAfterACrashAnywhere(t *testing.T) {
	for name, layout := range map[string]timeline.Layout{"appended": timeline.Appended, "packed": timeline.Packed, "numbered": timeline.Numbered} {
		t.Run(name, func(t *testing.T) { sweepFeed(t, layout) })
	}
}

func sweepFeed(t *testing.T, layout timeline.Layout) {
	proof.Sweep(t, 60, building(kvtest.NoPowers), func(sim *kvtest.Sim) {
		sim.CrashAt("p", 1+sim.Rand().IntN(120))
		for _, name := range []string{"p", "q"} {
			sim.Go(name, func(s kv.Store) { createSome(openFeed(s, layout), name, 4) })
		}
		sim.Wait()
		repairAll(sim, func(s kv.Store) *pages { return openFeed(s, layout).pages })
		checkFeed(sim, openFeed(sim.Still(), layout))
	})
}

func createSome(f *feed, name string, n int) {
	for i := range n {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_ = f.Create(ctx, &page{ID: fmt.Sprint(name, i), Author: "ann", Body: "text"})
		cancel()
	}
	_ = f.db.Close(context.Background())
}

func checkFeed(sim *kvtest.Sim, f *feed) {
	defer f.close(sim.T())
	there := map[string]bool{}
	for rec, err := range f.All(ctx) {
		must(sim.T(), err)
		there[rec.ID] = true
	}
	for _, reader := range followers {
		items, err := f.items.Latest(ctx, reader, 100)
		must(sim.T(), err)
		shown := map[string]int{}
		for _, item := range items {
			shown[item.Page]++
			if !there[item.Page] {
				sim.T().Errorf("the feed of %s has %s, which was never created", reader, item.Page)
			}
		}
		for id := range there {
			if shown[id] != 1 {
				sim.T().Errorf("%s has %s %d times in the feed", reader, id, shown[id])
			}
		}
	}
}
