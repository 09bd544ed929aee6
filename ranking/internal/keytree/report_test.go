package keytree

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

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
		base.checkInvariants(sim.T())
		base.wantDrift(sim.T(), 0)
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
	proof.Equal(t, meter.Cost().Trips, 2, "trips")
	if report := r.checkInvariants(t, "another"); report.Drift != 0 || report.Depth < 5 {
		t.Errorf("counts are off by %d, in a tree of %d levels", report.Drift, report.Depth)
	}
}

// meddled is the store of a process that dies after its second trip, before which meddle runs.
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

func TestTally_AScoreThatIsInSeveralNodesIsOne(t *testing.T) {
	for n := range int64(9) { // The codes of 0 to 8 have 7 to 10 bits.
		for _, n := range []int64{n, -n} {
			r := open(newMem(), dense)
			for i := range 60 {
				r.set(t, idOf(i), n)
			}
			r.set(t, "another", n+1)
			p, root := r.root(t)
			if got := p.total("", root.router); got != (tally{61, 2}) {
				t.Errorf("there are %+v of the scores %d and %d, want 61 with 2", got, n, n+1)
			}
			r.wantDrift(t, 0)
		}
	}
}

func TestRouter_CountsScoresInAKindOfItsOwn(t *testing.T) {
	dense := router{seq: 9, pushed: tally{5, 2}, slots: [4]slot{{tally{3, 2}, 2, true}, {tally{}, 0, true}, {tally{1, 1}, 3, false}, {}}}
	for name, c := range map[string]struct {
		router router
		kind   byte
	}{"dense": {dense, 'D'}, "empty": {router{seq: 9}, 'R'}} {
		value := c.router.encode(nil)
		got, err := decodeNode(kv.Result{Value: value, Version: 1})
		if err != nil || got.router == nil || value[len(magic)] != c.kind {
			t.Fatalf("%s: %q, %+v, %v", name, value, got, err)
		}
		proof.NoDiff(t, cmp.Diff(c.router, *got.router, cmp.AllowUnexported(router{}, slot{}, tally{})), "%s", name)
	}
}

func TestVerify_FindsWrongCountsOfScores(t *testing.T) {
	r := open(newMem(), dense)
	for i := range 100 {
		r.set(t, idOf(i), int64(i/2))
	}
	r.wantDrift(t, 0)
	p, root := r.root(t)
	wrong := *root.router
	wrong.slots[3].scores -= 2
	wrong.seq++
	must(t, p.write(ctx, r.s, p.root, root, wrong.encode(nil)))
	r.wantDrift(t, 2)
	st, err := r.state(ctx, r.s, idOf(99))
	must(t, err)
	must(t, r.repair(r.s, idOf(99), st)) // which corrects the counts on that path
	r.wantDrift(t, 0)
	r.checkCounts(t)
}

func (r *ranking) root(t *testing.T) (*nodes, node) {
	t.Helper()
	p := r.epochsNow(t)
	root, err := p.get(ctx, r.s, "")
	if err != nil || root[0].router == nil {
		t.Fatal(root, err)
	}
	return p, root[0]
}

func TestTree_DenseRanksOfALargeTreeAreOffByLittle(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	r := open(newMem(), dense, func(c *Config) { c.Limit, c.Small = 128, 100 })
	at := map[string]int64{}
	check := func(most int) {
		t.Helper()
		scores := map[int64]bool{}
		for _, n := range at {
			scores[n] = true
		}
		rank, err := r.RankOf(ctx, r.s, FromInt(-1), true, Dense)
		if off := distance(rank-1, len(scores)); err != nil || off > most {
			t.Errorf("%d scores of %d are counted, %v", rank-1, len(scores), err)
		}
	}
	for i := range 4000 {
		at[idOf(i)] = rng.Int64N(6000)
		r.set(t, idOf(i), at[idOf(i)])
	}
	check(150)
	// The leaves keep their members, with fewer scores.
	for i := range 4000 {
		at[idOf(i)] -= at[idOf(i)] % 8
		r.set(t, idOf(i), at[idOf(i)])
	}
	check(75)
	must(t, r.Refresh(ctx, r.s))
	check(0)
}
