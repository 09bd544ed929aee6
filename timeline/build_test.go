package timeline_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

type tale struct {
	ID     string
	Author string
	Told   time.Time
}

type tales struct {
	*kvmodel.Records[tale, string]
	db       *kvmodel.DB
	newest   *timeline.Ring[tale] // by Told
	byAuthor *timeline.Rings[tale, string]
}

func openBare(s kv.Store, opts ...kvmodel.Option) *tales {
	db, err := kvmodel.Open(s, opts...)
	if err != nil {
		panic(err)
	}
	return &tales{Records: kvmodel.NewRecords(db, schemaOf("Tale", func(v *tale) *string { return &v.ID })), db: db}
}

// openTales opens tales with timelines by Told.
func openTales(s kv.Store, spec timeline.Spec[tale], opts ...kvmodel.Option) *tales {
	p := openBare(s, opts...)
	spec.Value = func(v *tale) string { return timeline.Text(v.Told) }
	spec.Order = func(v *tale) any { return v.Told }
	spec.Name, spec.Def = "Newest", "timeline Told"
	p.newest = timeline.NewRing(p.Records, spec)
	spec.Name, spec.Def, spec.Shards = "NewestByAuthor", "timeline Told by Author", 0
	p.byAuthor = timeline.NewRings(p.Records, spec, by(func(v *tale) string { return v.Author }))
	return p
}

func (p *tales) close(t testing.TB) {
	t.Helper()
	if err := p.db.Close(ctx); err != nil {
		t.Error("close:", err)
	}
}

var tellers = []string{"ann", "bob", "cid"}

// oldTales returns n tales in random order.
func oldTales(n int) []*tale {
	rng := rand.New(rand.NewPCG(1, 2))
	var all []*tale
	for i := range n {
		// some within a second, some within a millisecond
		told := time.Unix(1_700_000_000+int64(i/7), int64(i%7)*250_000)
		all = append(all, &tale{ID: fmt.Sprintf("t%03d", rng.IntN(1000)*1000+i), Author: tellers[i%3], Told: told.UTC()})
	}
	rng.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// newest returns the tales that a timeline of size shows of author, or of all.
func newest(all []*tale, size int, author string) []*tale {
	own := slices.DeleteFunc(slices.Clone(all), func(v *tale) bool { return author != "" && v.Author != author })
	slices.SortFunc(own, func(a, b *tale) int { return cmp.Or(b.Told.Compare(a.Told), cmp.Compare(b.ID, a.ID)) })
	return own[:min(len(own), size)]
}

func merged(all []*tale, size int, authors ...string) (both []*tale) {
	for _, author := range authors {
		both = append(both, newest(all, size, author)...)
	}
	// within a millisecond, by owner
	slices.SortStableFunc(both, func(a, b *tale) int { return cmp.Compare(b.Told.UnixMilli(), a.Told.UnixMilli()) })
	return both
}

func shownTales(t testing.TB, r *timeline.Ring[tale]) (all []*tale) {
	t.Helper()
	for v, err := range r.All(ctx) {
		must(t, err)
		all = append(all, v)
	}
	return all
}

func taleID(v *tale) any { return v.ID }

// toldIn returns the time by which shards are merged.
func toldIn(v *tale) any { return v.Told.UnixMilli() }

func wantTales(t testing.TB, what string, want, got []*tale, by func(*tale) any) {
	t.Helper()
	texts := func(all []*tale) []string { return kv.Texts(all, func(v *tale) string { return fmt.Sprint(by(v)) }) }
	proof.NoDiff(t, gocmp.Diff(texts(want), texts(got)), "%s", what)
}

// wantOrder asserts that the timelines show all in the order of the field.
func (p *tales) wantOrder(t testing.TB, what string, all []*tale, size, shards int) {
	t.Helper()
	if got := shownTales(t, p.newest); shards == 1 {
		wantTales(t, what+", all", newest(all, size, ""), got, taleID)
	} else {
		// each shard forgets its own
		wantTales(t, what+", all shards", newest(all, size, ""), got[:min(len(got), size)], toldIn)
	}
	wantTales(t, what+", of ann", newest(all, size, "ann"), shownTales(t, p.byAuthor.Of("ann")), taleID)
	wantTales(t, what+", of bob", newest(all, size, "bob"), shownTales(t, p.byAuthor.Of("bob")), taleID)
	wantTales(t, what+", of ann and cid", merged(all, size, "ann", "cid"), shownTales(t, p.byAuthor.Of("ann", "cid")), taleID)
}

func TestBuild_OldRecordsStandInTheOrderOfTheField(t *testing.T) {
	for name, spec := range map[string]timeline.Spec[tale]{
		"default":       {},
		"small":         {Shape: timeline.Shape{Size: 100, Segment: 7}},
		"a key each":    {Shape: timeline.Shape{Size: 30, Segment: 1}},
		"one":           {Shape: timeline.Shape{Size: 1}},
		"three":         {Shape: timeline.Shape{Size: 3}},
		"four shards":   {Shards: 4},
		"small, shards": {Shape: timeline.Shape{Size: 100, Segment: 10}, Shards: 2},
	} {
		t.Run(name, func(t *testing.T) {
			eachStore(t, func(t *testing.T, s kv.Store) {
				all := oldTales(proof.Size(150, 700))
				bare := openBare(survivor{s})
				must(t, bare.CreateMulti(ctx, all))
				bare.close(t)
				p := closing(t, openTales(survivor{s}, spec))
				must(t, p.Rebuild(ctx))
				size := cmp.Or(spec.Shape.Size, timeline.DefaultSize)
				p.wantOrder(t, "after a rebuild", all, size, max(spec.Shards, 1))
				must(t, p.Rebuild(ctx))
				p.wantOrder(t, "after another", all, size, max(spec.Shards, 1))
				now := &tale{ID: "now", Author: "ann", Told: time.Now()}
				must(t, p.Create(ctx, now))
				p.wantOrder(t, "with a new one", append(all, now), size, max(spec.Shards, 1))
			})
		})
	}
}

// A writer takes its number before a build, and commits after the build has read the records.
// Whether it survives or not, its record stands above the old ones and below later ones.
func TestBuild_AChangeThatItMissesStandsAboveTheOldRecords(t *testing.T) {
	for _, test := range []struct {
		name          string
		during, lives bool // commit during the build; the process survives
	}{{"after the build", false, true}, {"after the build, and dies", false, false}, {"during the build, and dies", true, false}} {
		t.Run(test.name, func(t *testing.T) {
			mem, c := memkv.New(memkv.Options{}), newClock()
			clock := kvmodel.Clock(c.now)
			all := oldTales(30)
			bare := openBare(plain{mem}, clock)
			must(t, bare.CreateMulti(ctx, all))
			bare.close(t)

			ready, commit, done := make(chan bool), make(chan bool), make(chan bool)
			var dead atomic.Bool
			var once sync.Once
			s := &broken{Store: plain{mem}}
			s.refuses = func(op kv.Op) bool {
				refuse := dead.Load()
				if op.Kind.Writes() && op.Key == "r:Tale:late" {
					once.Do(func() {
						close(ready)
						<-commit
						dead.Store(!test.lives)
					})
				}
				return refuse
			}
			writer := openTales(s, timeline.Spec[tale]{}, clock)
			defer writer.db.Close(ctx)
			late := &tale{ID: "late", Author: "ann", Told: time.Unix(1_750_000_000, 0).UTC()}
			go func() {
				_ = writer.Create(ctx, late)
				close(done)
			}()
			<-ready

			builds := &broken{Store: plain{mem}}
			release := sync.OnceFunc(func() {
				close(commit)
				<-done
			})
			builds.refuses = func(op kv.Op) bool {
				if test.during && op.Kind.Writes() && strings.HasPrefix(op.Key, "r:Tale:") {
					release()
				}
				return false
			}
			builder := openTales(builds, timeline.Spec[tale]{}, clock)
			must(t, builder.Rebuild(ctx))
			release()
			if test.lives {
				writer.close(t)
			}
			for range 4 {
				must(t, builder.db.Repair(ctx))
				c.move(time.Minute)
			}
			next := &tale{ID: "a", Author: "ann", Told: time.Unix(2, 0).UTC()}
			must(t, builder.Create(ctx, next))
			want := append([]*tale{next, late}, newest(all, 30, "")...)
			wantTales(t, "all", want, shownTales(t, builder.newest), taleID)
			want = append([]*tale{next, late}, newest(all, 30, "ann")...)
			wantTales(t, "of ann", want, shownTales(t, builder.byAuthor.Of("ann")), taleID)
			builder.close(t)
		})
	}
}
