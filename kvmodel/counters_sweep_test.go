package kvmodel_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// In the sweep of plain counters, processes delete one record and create it again, while a visitor
// hits it. One of them is killed, and the others or a later one repair. Before every op, while the
// record lives, its counter must have exactly the hits carried out since it was created.

// onlooker sees every op of a simulation before it is carried out.
type onlooker struct {
	sim  *kvtest.Sim
	live bool
	hits int64 // of the live record
	made int   // creations of a record
}

// faults is a [kvtest.World]'s Fault. No hit is late, and none finds the record deleted, since such
// a hit may count for the next one.
func (o *onlooker) faults(m kvtest.Moment) kvtest.Fault {
	o.look()
	if m.Client == proof.Fixer || m.Op.Kind == kv.Get {
		return kvtest.None
	}
	if m.Client != "visitor" || !strings.HasPrefix(m.Op.Key, "n:") {
		return kvtest.ByRate
	}
	odds := [20]kvtest.Fault{0: kvtest.Mute, 7: kvtest.Lost, 13: kvtest.Unsent}
	fault := max(odds[m.Step%len(odds)], kvtest.None)
	if !o.live {
		fault = kvtest.Unsent
	}
	// The first hit adds the number, and others add to it.
	there, _ := o.counter()
	counts := there && m.Op.Kind == kv.Increment || !there && m.Op.Kind == kv.Add
	if counts && (fault == kvtest.None || fault == kvtest.Mute) {
		o.hits++
	}
	return fault
}

func (o *onlooker) look() {
	was := o.live
	o.live = o.lives()
	if !o.live {
		return
	}
	if !was {
		o.made++
		o.hits = 0
	}
	if _, n := o.counter(); n != o.hits {
		o.sim.T().Fatalf("the counter has %d hits, want %d", n, o.hits)
	}
}

func (o *onlooker) lives() bool {
	r, err := o.get("r:Viewed:a")
	if err != nil {
		return false
	}
	env, err := envelope.Decode(r.Value)
	must(o.sim.T(), err)
	return env.Live()
}

func (o *onlooker) counter() (there bool, n int64) {
	r, err := o.get("n:Viewed:Views:a")
	if err != nil {
		return false, 0
	}
	n, err = kv.ParseNumber(r.Value)
	must(o.sim.T(), err)
	return true, n
}

func (o *onlooker) get(key string) (kv.Result, error) {
	return kv.One(context.Background(), o.sim.Store(), kv.OpGet(key))
}

func viewsDB(s kv.Store) *kvmodel.DB { return newSweptViews(s).db }

func newSweptViews(s kv.Store) *views { return newViews(openSwept(s), 8) }

// comeAndGoViewed deletes the record and creates it again, as one process.
func comeAndGoViewed(s kv.Store, name string, rng *rand.Rand) {
	v := newSweptViews(s)
	history := kvmodel.NewHistory(v.Records)
	for i := range 8 {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		text := fmt.Sprint(name, i)
		switch rng.IntN(6) {
		case 0, 1:
			_ = v.Delete(ctx, "a")
		case 2:
			_ = v.Create(ctx, &viewed{ID: "a", Text: text})
		case 3:
			_ = v.Put(ctx, &viewed{ID: "a", Text: text})
		case 4:
			_, _ = v.Upsert(ctx, "a", func(v *viewed) error { v.Text = text; return nil })
		case 5:
			if revisions, _ := history.Of(ctx, "a", 8); len(revisions) > 0 {
				_, _ = history.Restore(ctx, "a", revisions[len(revisions)-1].Rev)
			}
		}
		cancel()
		if rng.IntN(8) == 0 {
			time.Sleep(time.Duration(rng.IntN(60)) * time.Second)
		}
	}
	closeSwept(v.db)
}

func hitViewed(s kv.Store, rng *rand.Rand) {
	v, ctx := newSweptViews(s), context.Background()
	for range 60 {
		_, _ = v.db.Tally("Viewed", "Views").Add(ctx, "a", 1)
		if rng.IntN(4) == 0 {
			time.Sleep(time.Duration(rng.IntN(10)) * time.Second)
		}
	}
	_ = v.db.Close(ctx)
}

func TestSweep_ACounterHasTheHitsOfItsOwnRecordAndNoOthers(t *testing.T) {
	for _, powers := range []kvtest.Powers{kvtest.NoPowers, kvtest.ServerPowers, kvtest.AllPowers, kvtest.OptimisticPowers} {
		o, made := new(onlooker), 0
		world := kvtest.Hostile(powers)
		world.Crash, world.Pause, world.Late, world.Slow = 0, 0, 0.1, 0.1
		world.Fault = func(m kvtest.Moment) kvtest.Fault { return o.faults(m) }
		proof.Sweep(t, 40, world, func(sim *kvtest.Sim) {
			o = &onlooker{sim: sim}
			sim.CrashAt("p", 1+sim.Rand().IntN(120))
			for i, name := range []string{"p", "q"} {
				rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
				sim.Go(name, func(s kv.Store) { comeAndGoViewed(s, name, rng) })
			}
			rng := rand.New(rand.NewPCG(sim.Seed(), 2))
			sim.Go("visitor", func(s kv.Store) { hitViewed(s, rng) })
			sim.Wait()
			repairAll(sim, viewsDB)
			sim.Wait()
			o.look()
			made += o.made
			if there, n := o.counter(); there && !o.live {
				t.Errorf("%d hits of a deleted record are left", n)
			}
		})
		t.Logf("%v: %d records were made", powers, made)
	}
}
