package timeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/timeline"
)

// Two processes with two goroutines each race to change, move, delete, make again and let expire a
// few records, and one is killed. After a repair, every reader must show the function of the
// records.

type brief struct {
	ID, Author, Body string
	Hidden           bool
	Ends             time.Time
}

type briefs struct {
	*kvmodel.Records[brief, string]
	db             *kvmodel.DB
	newest, shards *timeline.Ring[brief]
	byAuthor       *timeline.Rings[brief, string]
}

func openBriefs(s kv.Store, shape timeline.Shape) *briefs {
	db, err := kvmodel.Open(s, quiet)
	if err != nil {
		panic(err)
	}
	schema := schemaOf("Brief", func(v *brief) *string { return &v.ID })
	schema.Expires = func(v *brief) *time.Time { return &v.Ends }
	p := &briefs{db: db, Records: kvmodel.NewRecords(db, schema)}
	spec := timeline.Spec[brief]{
		Name: "Newest", Def: "timeline Body", Shape: shape,
		Value: func(v *brief) string { return v.Body }, If: func(v *brief) bool { return !v.Hidden },
	}
	p.newest = timeline.NewRing(p.Records, spec)
	spec.Name, spec.Def, spec.Shards = "Sharded", "timeline Body shards 2", 2
	p.shards = timeline.NewRing(p.Records, spec)
	spec.Name, spec.Def, spec.Shards = "ByAuthor", "timeline Body by Author", 0
	p.byAuthor = timeline.NewRings(p.Records, spec, by(func(v *brief) string { return v.Author }))
	return p
}

var briefIDs = names("b", 0, 4)

func (p *briefs) change(name string, rng *rand.Rand, n int) {
	for i := range n {
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
		id, body, author := briefIDs[rng.IntN(len(briefIDs))], fmt.Sprint(name, i), sweptAuthors[rng.IntN(2)]
		ends := func(v *brief) {
			switch rng.IntN(4) {
			case 0:
				v.Ends = p.db.Now().Add(time.Duration(2+rng.IntN(20)) * time.Second)
			case 1:
				v.Ends = p.db.Now().Add(100 * time.Hour)
			}
		}
		switch rng.IntN(8) {
		case 0, 1:
			v := &brief{ID: id, Author: author, Body: body}
			ends(v)
			_ = p.Create(ctx, v)
		case 2:
			_ = p.Delete(ctx, id)
		case 3:
			if p.Delete(ctx, id) == nil {
				_ = p.Create(ctx, &brief{ID: id, Author: author, Body: body})
			}
		case 4:
			_, _ = p.Update(ctx, id, func(v *brief) error { v.Hidden = !v.Hidden; return nil })
		default:
			// a try that loses its race decides again
			_, _ = p.Update(ctx, id, func(v *brief) error {
				switch rng.IntN(4) {
				case 0:
					v.Author = author
				case 1:
					ends(v)
				default:
					v.Body = body
				}
				return nil
			})
		}
		cancel()
	}
}

func (p *briefs) check(t *testing.T) {
	in := map[string]*brief{}
	for v, err := range p.All(ctx) {
		must(t, err)
		if !v.Hidden {
			in[v.ID] = v
		}
	}
	of := func(author string) func(*brief) bool { return func(v *brief) bool { return v.Author == author } }
	all := func(*brief) bool { return true }
	checkReaders(t, "all", p.newest, in, all)
	checkReaders(t, "shards", p.shards, in, all)
	for _, author := range sweptAuthors {
		checkReaders(t, author, p.byAuthor.Of(author), in, of(author))
	}
	checkReaders(t, "both", p.byAuthor.Of(sweptAuthors...), in, all)
}

func checkReaders(t *testing.T, name string, ring *timeline.Ring[brief], in map[string]*brief, belongs func(*brief) bool) {
	t.Helper()
	var want, shown []string
	for id, v := range in {
		if belongs(v) {
			want = append(want, id)
		}
	}
	for v, err := range ring.All(ctx) {
		must(t, err)
		shown = append(shown, v.ID)
	}
	slices.Sort(want)
	proof.NoDiff(t, cmp.Diff(want, slices.Sorted(slices.Values(shown))), "%s: All and the records", name)
	for _, n := range []int{1, 2, 5} {
		checkPages(t, fmt.Sprint(name, " by ", n), ring, shown, n)
	}
	proof.Equal(t, filled(t, ring), len(shown), "%s: the pictures", name)
	head, err := ring.Head(ctx)
	must(t, err)
	if n, err := ring.Since(ctx, head); n != 0 || err != nil {
		t.Errorf("%s: %d since the head, %v", name, n, err)
	}
}

func checkPages(t *testing.T, name string, ring *timeline.Ring[brief], want []string, n int) {
	t.Helper()
	var down []string
	pages := walk(t, ring, n)
	for _, l := range pages {
		for _, v := range l.Items {
			down = append(down, v.ID)
		}
		if l.Next == "" {
			break
		}
		if above, err := ring.Since(ctx, l.Next); above != len(down) || err != nil {
			t.Errorf("%s: %d since a cursor below %d, %v", name, above, len(down), err)
		}
	}
	proof.NoDiff(t, cmp.Diff(want, down), "%s: the pages", name)
	for i := len(pages) - 1; i > 0; i-- {
		l, err := ring.Page(ctx, pages[i].Prev, n)
		must(t, err)
		text := func(l kvmodel.Listing[brief]) []string {
			return kv.Texts(l.Items, func(v *brief) string { return v.ID })
		}
		proof.NoDiff(t, cmp.Diff(text(pages[i-1]), text(l)), "%s: back to page %d", name, i-1)
	}
}

func TestSweep_Readers_EveryReaderShowsTheFunctionOfTheRecords(t *testing.T) {
	for name, powers := range map[string]kvtest.Powers{"server": kvtest.ServerPowers, "none": kvtest.NoPowers, "all": kvtest.AllPowers} {
		t.Run(name, func(t *testing.T) {
			proof.Sweep(t, 40, building(powers), func(sim *kvtest.Sim) {
				shape := []timeline.Shape{{}, {Size: 100, Segment: 4}, {Size: 100, Segment: 1}}[sim.Seed()%3]
				if sim.Rand().IntN(4) > 0 {
					sim.CrashAt("p", 1+sim.Rand().IntN(400))
				}
				for i, name := range []string{"p", "q"} {
					sim.Go(name, func(s kv.Store) {
						p := openBriefs(s, shape)
						done := make(chan struct{})
						go func() {
							defer close(done)
							p.change(name+"x", rand.New(rand.NewPCG(sim.Seed(), uint64(i))), 8)
						}()
						p.change(name, rand.New(rand.NewPCG(sim.Seed(), uint64(i+2))), 8)
						<-done
						_ = p.db.Close(context.Background())
					})
				}
				sim.Wait()
				repairAll(sim, func(s kv.Store) *pages { return &pages{db: openBriefs(s, shape).db} })
				last := openBriefs(sim.Still(), shape)
				last.check(sim.T())
				must(sim.T(), last.db.Close(ctx))
			})
		})
	}
}
