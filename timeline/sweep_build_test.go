package timeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/timeline"
)

// One or two processes build timelines of old records while two others change, delete and make
// records. Processes die at any step. After a repair and a build, untouched records must be in the
// order of the field, and the others above them in the order of their changes.

const sweptOld = 24

func openSweptTales(s kv.Store) *tales {
	p := openTales(s, timeline.Spec[tale]{Shape: timeline.Shape{Size: 64, Segment: 4}}, quiet)
	p.newest.SortAtOnce(10)
	p.byAuthor.SortAtOnce(10)
	return p
}

// telling is what the writers know of their changes, by id.
type telling struct {
	mu           sync.Mutex
	now          int
	begun, acked map[string]int // of the last change; acked is 0 if it failed
	touched      map[string]bool
}

func newTelling() *telling {
	return &telling{begun: map[string]int{}, acked: map[string]int{}, touched: map[string]bool{}}
}

// begin begins a change of id.
func (l *telling) begin(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now++
	l.begun[id], l.acked[id], l.touched[id] = l.now, 0, true
}

func (l *telling) end(id string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now++; err == nil {
		l.acked[id] = l.now
	}
}

// tell returns a time after all earlier ones.
func (l *telling) tell() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now++
	return time.Unix(1_900_000_000, int64(l.now)).UTC()
}

// newTeller has no old records.
const newTeller = "eve"

func anyTeller(rng *rand.Rand) string {
	return append([]string{newTeller}, tellers...)[rng.IntN(1+len(tellers))]
}

// write makes n changes as one process, of its own ids.
func (l *telling) write(s kv.Store, mine int, rng *rand.Rand, n int) {
	p := openSweptTales(s)
	for i := range n {
		ctx, cancel := context.WithTimeout(context.Background(), 8*time.Second)
		id := fmt.Sprintf("t%02d", 2*rng.IntN(sweptOld/4)+mine)
		var err error
		switch rng.IntN(6) {
		case 0, 1, 2:
			l.begin(id)
			_, err = p.Update(ctx, id, func(v *tale) error { v.Told = l.tell(); return nil })
		case 3:
			l.begin(id)
			_, err = p.Update(ctx, id, func(v *tale) error { v.Author, v.Told = anyTeller(rng), l.tell(); return nil })
		case 4:
			id = fmt.Sprint("new", mine, i)
			l.begin(id)
			err = p.Create(ctx, &tale{ID: id, Author: anyTeller(rng), Told: l.tell()})
		case 5:
			l.begin(id)
			if err = p.Delete(ctx, id); err == nil && rng.IntN(2) == 0 {
				l.begin(id)
				err = p.Create(ctx, &tale{ID: id, Author: anyTeller(rng), Told: l.tell()})
			}
		}
		l.end(id, err)
		cancel()
	}
	_ = p.db.Close(context.Background())
}

func rebuildTales(s kv.Store) {
	p := openSweptTales(s)
	_ = p.Rebuild(context.Background())
	_ = p.db.Close(context.Background())
}

func (l *telling) check(t *testing.T, p *tales) {
	defer p.close(t)
	there := map[string]*tale{}
	for v, err := range p.All(ctx) {
		must(t, err)
		there[v.ID] = v
	}
	l.checkOne(t, "all", there, p.newest, anyTale)
	for _, author := range append([]string{newTeller}, tellers...) {
		l.checkOne(t, author, there, p.byAuthor.Of(author), func(v *tale) bool { return v.Author == author })
	}
}

func anyTale(*tale) bool { return true }

// checkOne asserts that ring shows the records that keep accepts, in order.
func (l *telling) checkOne(t *testing.T, name string, there map[string]*tale, ring *timeline.Ring[tale], keep func(*tale) bool) {
	shown := shownTales(t, ring)
	for id, v := range there {
		n := 0
		for _, s := range shown {
			if s.ID == id {
				n++
			}
		}
		if want := map[bool]int{true: 1}[keep(v)]; n != want {
			t.Errorf("%s is in the timeline of %s %d times, want %d", id, name, n, want)
		}
	}
	for i, above := range shown {
		for _, below := range shown[i+1:] {
			if why := l.wrong(above, below); why != "" {
				t.Errorf("in the timeline of %s, %s stands above %s: %s; %v", name, above.ID, below.ID, why,
					kv.Texts(shown, func(v *tale) string { return v.ID }))
			}
		}
	}
}

// wrong returns why above must not stand above below, if so.
func (l *telling) wrong(above, below *tale) string {
	switch a, b := l.touched[above.ID], l.touched[below.ID]; {
	case !a && b && l.acked[below.ID] > 0:
		return "it is old, and the other was changed"
	case !a && !b && above.Told.Before(below.Told):
		return "both are old, and it was told before the other"
	case a && b && l.acked[above.ID] > 0 && l.acked[above.ID] < l.begun[below.ID] && l.acked[below.ID] > 0:
		return "it was changed before the other"
	}
	return ""
}

// building returns a world in which requests of the writers p and q rarely fail, and the others
// meet no faults but their own end.
func building(powers kvtest.Powers) kvtest.World {
	return kvtest.World{
		Powers: powers, Unsent: 0.003, Lost: 0.003, Mute: 0.006, Late: 0.01, Slow: 0.01,
		Fault: func(m kvtest.Moment) kvtest.Fault {
			if m.Client == "p" || m.Client == "q" {
				return kvtest.ByRate
			}
			return kvtest.None
		},
	}
}

func tellOld(sim *kvtest.Sim) {
	bare := openBare(sim.Still())
	var old []*tale
	for i := range sweptOld {
		told := time.Unix(1_700_000_000-int64(i*7%sweptOld), 0)
		old = append(old, &tale{ID: fmt.Sprintf("t%02d", i), Author: tellers[i%3], Told: told.UTC()})
	}
	sim.Rand().Shuffle(len(old), func(i, j int) { old[i], old[j] = old[j], old[i] })
	must(sim.T(), bare.CreateMulti(ctx, old))
	bare.close(sim.T())
}

func buildBy(sim *kvtest.Sim, name string) {
	if sim.Rand().IntN(2) == 0 {
		sim.CrashAt(name, sim.Step()+sim.Rand().IntN(600))
	}
	sim.Go(name, rebuildTales)
}

func (l *telling) endBuild(sim *kvtest.Sim) {
	sim.Wait()
	repairAll(sim, func(s kv.Store) *pages { return &pages{db: openSweptTales(s).db} })
	sim.Spare("last")
	sim.Do("last", rebuildTales)
	sim.Wait()
	l.check(sim.T(), openSweptTales(sim.Still()))
}

func TestSweep_Build_BesideWritersAndCrashesTheOrderIsThatOfTheField(t *testing.T) {
	for name, powers := range map[string]kvtest.Powers{"server": kvtest.ServerPowers, "none": kvtest.NoPowers} {
		t.Run(name, func(t *testing.T) {
			proof.Sweep(t, 60, building(powers), func(sim *kvtest.Sim) {
				l := newTelling()
				tellOld(sim)
				for i, name := range []string{"p", "q"} {
					if sim.Rand().IntN(2) == 0 {
						sim.CrashAt(name, 1+sim.Rand().IntN(400))
					}
					rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
					sim.Go(name, func(s kv.Store) { l.write(s, i, rng, 6) })
				}
				sim.Steps(sim.Rand().IntN(300))
				buildBy(sim, "b")
				l.endBuild(sim)
			})
		})
	}
}

func TestSweep_Build_ThatIsKilledGoesOn(t *testing.T) {
	proof.Sweep(t, 60, building(kvtest.NoPowers), func(sim *kvtest.Sim) {
		l := newTelling()
		tellOld(sim)
		for i, name := range []string{"p", "q"} {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
			sim.Go(name, func(s kv.Store) { l.write(s, i, rng, 8) })
		}
		for i := range 3 {
			name := fmt.Sprint("b", i)
			sim.CrashAt(name, sim.Step()+30+sim.Rand().IntN(300))
			sim.Go(name, rebuildTales)
			sim.Steps(sim.Rand().IntN(300))
		}
		l.endBuild(sim)
	})
}

func TestSweep_Build_SeveralAtATimeHideNothing(t *testing.T) {
	proof.Sweep(t, 120, building(kvtest.NoPowers), func(sim *kvtest.Sim) {
		l := newTelling()
		tellOld(sim)
		for i := range 3 {
			buildBy(sim, fmt.Sprint("b", i))
			sim.Steps(sim.Rand().IntN(100))
		}
		l.endBuild(sim)
	})
}
