package timeline_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

type essays struct {
	*kvmodel.Records[essay, string]
	db    *kvmodel.DB
	byTag *timeline.Rings[essay, string]
	tags  *timeline.Rings[essay, string] // ordered by when a record got the tag
}

type essay struct {
	ID   string
	Tags []string
	Body string
}

func bareEssays(s kv.Store, opts ...kvmodel.Option) *essays {
	db, err := kvmodel.Open(s, append(opts, quiet)...)
	if err != nil {
		panic(err)
	}
	return &essays{db: db, Records: kvmodel.NewRecords(db, schemaOf("Essay", func(e *essay) *string { return &e.ID }))}
}

func openEssays(s kv.Store, shape timeline.Shape, opts ...kvmodel.Option) *essays {
	e := bareEssays(s, opts...)
	by := kvmodel.By[essay, string]{Key: kvmodel.StringKey[string](), Values: func(e *essay) []string { return e.Tags }}
	body := func(e *essay) string { return timeline.Text(e.Body) }
	e.byTag = timeline.NewRings(e.Records, timeline.Spec[essay]{
		Name: "NewestByTags", Def: "timeline Body by Tags each", Shape: shape,
		Value: body, Order: func(e *essay) any { return e.Body },
	}, by)
	e.tags = timeline.NewRings(e.Records, timeline.Spec[essay]{Name: "Tagged", Def: "timeline Tags by Tags each", Shape: shape}, by)
	return e
}

func (e *essays) put(t testing.TB, id, tags, body string) {
	t.Helper()
	must(t, e.Put(ctx, &essay{ID: id, Tags: strings.Fields(tags), Body: body}))
}

func (e *essays) close(t testing.TB) {
	t.Helper()
	must(t, e.db.Close(ctx))
}

// wantShown asserts what the rings of tags show as one, page by page, in both directions.
func wantShown(t testing.TB, r *timeline.Rings[essay, string], tags, want string) {
	t.Helper()
	ring := r.Of(strings.Fields(tags)...)
	for n := 1; n < 4; n++ {
		var got []string
		pages := walk(t, ring, n)
		for _, l := range pages {
			for _, e := range l.Items {
				got = append(got, e.ID)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s, in pages of %d: %v, want %s", tags, n, got, want)
		}
		for cursor := pages[len(pages)-1].Prev; cursor != ""; {
			l, err := ring.Page(ctx, cursor, n)
			must(t, err)
			for i, e := range l.Items {
				if at := slices.Index(got, e.ID); at < 0 || i > 0 && got[at-1] != l.Items[i-1].ID {
					t.Errorf("%s, back in pages of %d: %s among %v stands elsewhere than in %v", tags, n, e.ID, l.Items, got)
				}
			}
			cursor = l.Prev
		}
	}
}

func TestRings_ARecordStandsInTheRingOfEachOfItsOwners(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.Store) {
		clock := newClock()
		e := openEssays(s, timeline.Shape{Size: 16, Segment: 4}, kvmodel.Clock(clock.tick))
		e.put(t, "a", "go web go", "1")
		e.put(t, "b", "go", "2")
		e.put(t, "c", "web", "3")
		wantShown(t, e.byTag, "go", "b a")
		wantShown(t, e.byTag, "web", "c a")
		wantShown(t, e.byTag, "go web", "c b a")

		// only what has changed moves
		e.put(t, "a", "go db", "1")
		for _, r := range []*timeline.Rings[essay, string]{e.byTag, e.tags} {
			wantShown(t, r, "go", "b a")
			wantShown(t, r, "web", "c")
			wantShown(t, r, "db", "a")
			wantShown(t, r, "db go web", "a c b")
		}

		// a new body moves it in byTag, not in tags
		e.put(t, "a", "go db", "4")
		wantShown(t, e.byTag, "go", "a b")
		wantShown(t, e.byTag, "db go", "a b")
		wantShown(t, e.tags, "go", "b a")

		// a tag that comes back is new
		e.put(t, "c", "go", "3")
		e.put(t, "c", "web", "3")
		e.put(t, "b", "go web", "2")
		wantShown(t, e.byTag, "web", "b c")
		e.put(t, "c", "", "3")
		wantShown(t, e.byTag, "go web", "b a")
		must(t, e.Delete(ctx, "a"))
		wantShown(t, e.byTag, "db go web", "b")
		e.close(t)
	})
}

func TestRings_Of_NobodyIsEmpty(t *testing.T) {
	e := openEssays(memkv.New(memkv.Options{}), timeline.Shape{Size: 4, Segment: 2})
	e.put(t, "a", "go", "1")
	nobody := e.byTag.Of()
	wantShown(t, e.byTag, "", "")
	for range nobody.All(ctx) {
		t.Error("there is something of nobody")
	}
	head, err := nobody.Head(ctx)
	n, err2 := nobody.Since(ctx, head)
	first, last, err3 := nobody.InUse(ctx)
	if head != "" || n+int(first+last) != 0 || cmp.Or(err, err2, err3) != nil {
		t.Errorf("of nobody: head %q, %d since, %d to %d in use, %v", head, n, first, last, cmp.Or(err, err2, err3))
	}
	if all, err := nobody.Pictures(ctx, 2000); err != nil || len(all) != 0 {
		t.Errorf("pictures of nobody: %v, %v; want none", all, err)
	}
	archive := timeline.WithArchive(nobody, func(*essay) string { return "" }, func(string) kvmodel.Lister[essay] { return nobody })
	if page, err := archive.Page(ctx, "", 10); err != nil || len(page.Items) > 0 || page.Next != "" {
		t.Errorf("with an archive: %+v, %v", page, err)
	}
	e.close(t)
}

func TestRings_Of_WhatOneRingHasForgottenIsShownWhereAnotherHasIt(t *testing.T) {
	clock := newClock()
	e := openEssays(plain{memkv.New(memkv.Options{})}, timeline.Shape{Size: 4, Segment: 2}, kvmodel.Clock(clock.tick))
	e.put(t, "a", "quiet", "1")
	e.put(t, "a", "quiet busy", "1") // newer among the busy ones
	wantShown(t, e.tags, "busy quiet", "a")
	for i := range 6 {
		e.put(t, fmt.Sprint("b", i), "busy", "1")
	}
	wantShown(t, e.tags, "busy", "b5 b4 b3 b2")
	wantShown(t, e.tags, "busy quiet", "b5 b4 b3 b2 a")
	e.close(t)
}

func TestRings_Rebuild_EntersEachRecordInAllItsRings(t *testing.T) {
	eachStore(t, func(t *testing.T, s kv.Store) {
		var tags []string
		for i := range 12 {
			tags = append(tags, fmt.Sprint("tag", i))
		}
		bare := bareEssays(survivor{s})
		for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(30) {
			some := tags[i%4:]
			if i < 3 {
				some = nil
			}
			must(t, bare.Create(ctx, &essay{ID: fmt.Sprintf("e%02d", i), Tags: some, Body: fmt.Sprintf("%02d", i)}))
		}
		bare.close(t)
		e := openEssays(s, timeline.Shape{Size: 64, Segment: 8})
		for range 2 { // the second moves nothing
			must(t, e.Rebuild(ctx))
			for n, tag := range tags {
				var want []string
				for i := 29; i >= 3; i-- {
					if i%4 <= n {
						want = append(want, fmt.Sprintf("e%02d", i))
					}
				}
				wantShown(t, e.byTag, tag, strings.Join(want, " "))
			}
		}
		e.close(t)
	})
}

func TestRings_Purge_LeavesTheIDInNoRing(t *testing.T) {
	s := memkv.New(memkv.Options{})
	e := openEssays(plain{s}, timeline.Shape{Size: 16, Segment: 4})
	e.put(t, "secret", "go web", "1")
	e.put(t, "secret", "go web db", "2")
	must(t, e.Purge(ctx, "secret"))
	must(t, kv.PowersOf(s).Keys(ctx, "t:", func(keys []string) error {
		for _, key := range keys {
			if r, err := kv.One(ctx, s, kv.OpGet(key)); err != nil || strings.Contains(string(r.Value), "secret") {
				t.Errorf("%s holds %q, %v", key, r.Value, err)
			}
		}
		return nil
	}))
	e.close(t)
}

var sweptTags = []string{"x", "y", "z"}

// Two processes change tags and bodies; one is killed.
func TestSweep_Several_EachRecordStandsOnceInEachOfItsRings(t *testing.T) {
	open := func(s kv.Store) *essays { return openEssays(s, sweptShape) }
	proof.Sweep(t, 150, building(kvtest.NoPowers), func(sim *kvtest.Sim) {
		sim.CrashAt("p", 40+sim.Rand().IntN(160))
		for i, name := range []string{"p", "q"} {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
			sim.Go(name, func(s kv.Store) { writeEssays(open(s), name, rng) })
		}
		sim.Wait()
		repairAll(sim, func(s kv.Store) *pages { return &pages{db: open(s).db} })
		checkEssays(sim.T(), open(sim.Still()))
	})
}

func writeEssays(e *essays, name string, rng *rand.Rand) {
	for i := range 5 {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		id := sweptIDs[rng.IntN(2)]
		var tags []string
		for _, tag := range sweptTags {
			if rng.IntN(2) == 0 {
				tags = append(tags, tag)
			}
		}
		switch rng.IntN(6) {
		case 0:
			_ = e.Delete(ctx, id)
		case 1, 2:
			_, _ = e.Upsert(ctx, id, func(e *essay) error { e.Body = fmt.Sprint(name, i); return nil })
		default:
			_, _ = e.Upsert(ctx, id, func(e *essay) error { e.Tags = tags; return nil })
		}
		cancel()
	}
	_ = e.db.Close(context.Background())
}

func checkEssays(t testing.TB, e *essays) {
	defer e.close(t)
	for _, r := range []*timeline.Rings[essay, string]{e.byTag, e.tags} {
		shown := map[string]int{}
		for _, tags := range [][]string{{"x"}, {"y"}, {"z"}, sweptTags} {
			for rec, err := range r.Of(tags...).All(ctx) {
				must(t, err)
				shown[fmt.Sprint(tags, rec.ID)]++
			}
		}
		for _, id := range sweptIDs {
			rec, err := e.Get(ctx, id)
			want := map[string]int{}
			if err == nil && (rec.Body != "" || r == e.tags) {
				for _, tag := range rec.Tags {
					want[tag] = 1
				}
			}
			for _, tag := range sweptTags {
				if got := shown[fmt.Sprint([]string{tag}, id)]; got != want[tag] {
					t.Errorf("%s stands %d times in the ring of %s, want %d: %+v", id, got, tag, want[tag], rec)
				}
			}
			if got := shown[fmt.Sprint(sweptTags, id)]; got != min(len(want), 1) {
				t.Errorf("%s stands %d times in the rings of all tags: %+v", id, got, rec)
			}
		}
	}
}
