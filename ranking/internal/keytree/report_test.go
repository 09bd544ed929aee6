package keytree

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// Counts are reported ahead of writes that may be refused.
func TestSweep_AfterWritersAtTheSameTimeAllCountsOfASmallTreeAreExact(t *testing.T) {
	proof.Sweep(t, 80, kvtest.World{Powers: kvtest.NoPowers}, func(sim *kvtest.Sim) {
		open := func(s kv.Store) *ranking {
			return open(s, func(c *Config) { c.Dense = sim.Seed()%2 == 0 })
		}
		base := open(keep{sim.Store()})
		for i := range 60 {
			base.set(sim.T(), idOf(i), int64(i*i))
		}
		for p := range 3 {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(p)))
			sim.Go(fmt.Sprint("p", p), func(s kv.Store) {
				r := open(s)
				for range 12 {
					score, change := []int64{64, 900, rng.Int64N(4000)}[rng.IntN(3)], Out
					if rng.IntN(4) > 0 {
						change = To(FromInt(score))
					}
					if err := r.change(idOf(rng.IntN(80)), change); err != nil {
						sim.T().Error(err)
					}
				}
			})
		}
		sim.Wait()
		if report := base.checkInvariants(sim.T()); report.Drift != 0 {
			sim.T().Errorf("counts are off by %d", report.Drift)
		}
	})
}

func TestReport_ThatGoesUpManyLevelsTakesTwoTrips(t *testing.T) {
	r := open(newMem())
	for i := range 400 {
		r.set(t, idOf(i), int64(i%3))
	}
	due := new(Due)
	must(t, r.Set(ctx, r.s, r.own, "another", To(FromInt(1)), due))
	metered, meter := kv.Metered(ctx)
	must(t, due.Report(metered, kv.Count(r.s)))
	if trips := meter.Cost().Trips; trips != 2 {
		t.Errorf("%d trips", trips)
	}
	if report := r.checkInvariants(t, "another"); report.Drift != 0 || report.Depth < 5 {
		t.Errorf("counts are off by %d, in a tree of %d levels", report.Drift, report.Depth)
	}
}

// meddled is the store of a process that dies after its second trip. Before that, meddle runs.
type meddled struct {
	kv.Store
	trips  int
	meddle func()
}

func (m *meddled) Do(ctx context.Context, ops []kv.Op) error {
	m.trips++
	switch {
	case m.trips == 2:
		m.meddle()
	case m.trips > 2:
		return errDead
	}
	return m.Store.Do(ctx, ops)
}

var errDead = fmt.Errorf("%w: the process is dead", kv.ErrUnavailable)

func TestReport_AfterARefusedWriteNothingIsBelowAClosedSlot(t *testing.T) {
	r := open(newMem())
	for i := range 40 {
		r.set(t, idOf(i), int64(1+i%2*5000+i))
	}
	for i := 1; i < 39; i += 2 {
		r.remove(t, idOf(i))
	}
	due := new(Due)
	must(t, r.Set(ctx, r.s, r.own, idOf(39), Out, due))
	dying := &meddled{Store: r.s, meddle: func() { open(r.s).set(t, idOf(39), 5040) }}
	if err := due.Report(ctx, dying); err == nil {
		t.Error("the report was not refused: nothing is tested")
	}
	r.checkInvariants(t, idOf(39))
}
