package whole_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// byEach works share a list, a ring and a board. Short names of authors keep keys from being
// hashed.
const byEach = 3

type plantedFault struct {
	whole.Planted
	of  *whole.Plant
	met bool // reported as its kind
}

// Each fault is in the works of an author who has no other.
func plantedAll(t *testing.T, l *whole.Library, mem *memkv.Store, n int) (all []plantedFault) {
	t.Helper()
	work := func(i int) string { return fmt.Sprintf("v%05d", i) }
	var works []*whole.Work
	var likes []*whole.Like
	for i := range n * len(whole.Plants) * byEach {
		works = append(works, &whole.Work{ID: work(i), Slug: "slug-" + work(i), Author: fmt.Sprintf("a%05d", i/byEach), Price: int64(i)})
		likes = append(likes, &whole.Like{User: fmt.Sprint("user-", i%100), Work: work(i)})
	}
	must(t, l.Works.CreateMulti(ctx, works), l.Likes.CreateMulti(ctx, likes))
	rest(t, l)
	for i := range n * len(whole.Plants) {
		plant := &whole.Plants[i%len(whole.Plants)]
		p, err := plant.In(ctx, l, mem, work(i*byEach), work(i*byEach+1))
		must(t, err)
		all = append(all, plantedFault{Planted: p, of: plant})
	}
	time.Sleep(2 * time.Minute)
	return all
}

func TestLong_FaultsOfEachKindAreFoundAndMendedOrNamedAndNothingElse(t *testing.T) {
	t.Parallel()
	n := 1
	switch {
	case proof.All():
		n = 70 // more than a thousand in all
	case proof.Long():
		n = 5
	}
	for w := range proof.Part(t, lossWorlds[:1], lossWorlds) {
		t.Run(w.name, func(t *testing.T) {
			w.inspected(t, nil, func(t *testing.T, l *whole.Library, mem *memkv.Store) {
				planted := plantedAll(t, l, mem, n)
				found := checked(t, l).Faults
				wantFound(t, planted, found)
				done, err := inspect.New(l.DB).Repair(ctx, found, inspect.RepairOptions{})
				must(t, err)
				for _, p := range planted {
					if !p.of.Lost {
						continue
					}
					if !slices.ContainsFunc(done.Left, func(f inspect.Fault) bool { return p.Has(f.ID, f.Key) }) {
						t.Errorf("%s in %s is lost, and the repair does not name it", p.of.Name, p.ID)
					}
					// While it is unknown what a record was, a board that has lost a part cannot be
					// filled.
					must(t, l.Works.Delete(ctx, p.ID))
				}
				rest(t, l)
				wantMended(t, l)
			})
		})
	}
}

func wantFound(t *testing.T, planted []plantedFault, found []inspect.Fault) {
	t.Helper()
	for _, f := range found {
		explained := false
		for i := range planted {
			if p := &planted[i]; p.Has(f.ID, f.Key) {
				explained, p.met = true, p.met || p.of.Kind == f.Kind
			}
		}
		if !explained {
			t.Errorf("nothing of this was planted: %s", faultTexts([]inspect.Fault{f}))
		}
	}
	for _, p := range planted {
		if !p.met {
			t.Errorf("%s in %s%s was not found", p.of.Name, p.ID, p.Base)
		}
	}
}

func wantMended(t *testing.T, l *whole.Library) {
	t.Helper()
	done, err := inspect.New(l.DB).Repair(ctx, checked(t, l).Faults, inspect.RepairOptions{})
	must(t, err)
	rest(t, l)
	if left := checked(t, l); len(done.Left) > 0 || !left.Well() {
		t.Errorf("left once what is lost was deleted: %s\n%s", faultTexts(done.Left), faultTexts(left.Faults))
	}
}
