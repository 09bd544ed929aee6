package kvmodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// In the sweep of ends, two processes touch, edit and delete the same few leases while time passes,
// and one of them is killed. The other, or a later one, repairs. All the while a live lease must
// have its claim, and be in its list and on its timeline.

func openLeases(s kv.Store, opts ...kvmodel.Option) *leases {
	return newLeases(openSwept(s, opts...))
}

func leasesDB(s kv.Store) *kvmodel.DB { return openLeases(s).db }

func changeLeases(s kv.Store, rng *rand.Rand) {
	l := openLeases(s)
	for range 8 {
		id, code, owner := pick(rng, sweepIDs), pick(rng, sweepEmails), pick(rng, []string{"ann", "bob"})
		until := time.Now().Add(leaseTimes[rng.IntN(len(leaseTimes))])
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		// The watchman sees whether it succeeds.
		switch rng.IntN(9) {
		case 0, 1:
			_ = l.Create(ctx, &lease{ID: id, Code: code, Owner: owner, Rank: rng.Int64N(3), Text: "text", Until: until})
		case 2:
			_, _ = l.Update(ctx, id, func(v *lease) error { v.Owner, v.Code, v.Rank = owner, code, rng.Int64N(3); return nil })
		case 3:
			_, _ = l.Update(ctx, id, func(v *lease) error { v.Owner, v.Until = owner, until; return nil })
		case 4:
			_ = l.Delete(ctx, id)
		default:
			if rng.IntN(2) == 0 {
				_, _ = l.Get(ctx, id)
			}
			_ = l.Touch(ctx, id, until)
		}
		cancel()
		if rng.IntN(3) == 0 {
			time.Sleep(time.Duration(rng.IntN(60)) * time.Second)
		}
	}
	closeSwept(l.db)
}

var leaseTimes = []time.Duration{30 * time.Second, 130 * time.Second, 4 * time.Minute, time.Hour, 100 * time.Hour}

type watchman struct {
	sim  *kvtest.Sim
	l    *leases
	at   time.Time // of the last look
	seen int       // leases checked

	// shown are the live leases that were on the timeline. A new one may be missing there until its
	// change returns.
	shown map[string]bool
}

func (w *watchman) faults(m kvtest.Moment) kvtest.Fault {
	if time.Since(w.at) >= max(time.Second, time.Since(bubbleBegins)/60) || strings.HasPrefix(m.Op.Key, "r:Lease:") {
		w.look()
	}
	if m.Op.Kind == kv.Get {
		return kvtest.None
	}
	return faults(m)
}

func (w *watchman) look() {
	w.at = time.Now()
	ctx, t := context.Background(), w.sim.T()
	newest, err := w.l.Newest.Page(ctx, "", 20)
	for _, id := range sweepIDs {
		v := w.lives(id)
		if v == nil {
			delete(w.shown, id)
		}
		if v == nil || err != nil {
			continue
		}
		w.seen++
		if in, err := w.l.ByOwner.Of(v.Owner).Contains(ctx, id); !in {
			t.Fatalf("%s is not in the list of %s (%v)", id, v.Owner, err)
		}
		on := slices.ContainsFunc(newest.Items, func(v *lease) bool { return v.ID == id })
		if w.shown[id] && !on {
			t.Fatalf("%s is not on the timeline any more", id)
		}
		w.shown[id] = on
		if owner := w.owner(v.Code); v.Code != "" && owner != id {
			t.Fatalf("%s has no claim on %s, but %q", id, v.Code, owner)
		}
	}
}

// lives returns the lease id, nil if there is none.
func (w *watchman) lives(id string) *lease {
	r, err := w.get("r:Lease:" + id)
	if err != nil {
		return nil
	}
	env, err := envelope.Decode(r.Value)
	must(w.sim.T(), err)
	if !env.Live() || env.Expires != 0 && env.HasEnded(time.Now()) {
		return nil
	}
	v := new(lease)
	must(w.sim.T(), json.Unmarshal(env.Body, v))
	return v
}

func (w *watchman) owner(code string) string {
	r, err := w.get("u:Lease:ByCode:" + code)
	if err != nil {
		return ""
	}
	return holderIn(r)
}

func (w *watchman) get(key string) (kv.Result, error) {
	return kv.One(context.Background(), w.sim.Store(), kv.OpGet(key))
}

func TestSweep_ALeaseThatLivesIsInItsListsAndHasItsClaimAtEveryMoment(t *testing.T) {
	for _, powers := range []kvtest.Powers{kvtest.NoPowers, kvtest.ServerPowers, kvtest.AllPowers, kvtest.OptimisticPowers} {
		w, seen := new(watchman), 0
		world := kvtest.World{Powers: powers, Unsent: 0.02, Lost: 0.02, Mute: 0.02}
		world.Fault = func(m kvtest.Moment) kvtest.Fault { return w.faults(m) }
		proof.Sweep(t, 15, world, func(sim *kvtest.Sim) {
			w = &watchman{sim: sim, l: openLeases(sim.Still(), kvmodel.ReadOnly()), shown: map[string]bool{}}
			sim.CrashAt("p", 1+sim.Rand().IntN(250))
			for i, name := range []string{"p", "q"} {
				rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
				sim.Go(name, func(s kv.Store) { changeLeases(s, rng) })
			}
			sim.Wait()
			repairAll(sim, leasesDB)
			sim.Wait()
			w.look()
			seen += w.seen
			checkLeases(sim, w)
		})
		t.Logf("%+v: %d looks at leases that live", powers, seen)
	}
}

// checkLeases asserts, after all repairs, that the indexes show the live leases and no others.
func checkLeases(sim *kvtest.Sim, w *watchman) {
	t, ctx, l := sim.T(), context.Background(), openLeases(sim.Still())
	var ids []string
	for _, id := range sweepIDs {
		if v := w.lives(id); v != nil {
			ids = append(ids, id)
		}
	}
	all := strings.Join(ids, " ")
	page, err := l.Newest.Page(ctx, "", 20)
	if got := leaseIDs(page.Items, err); got != all {
		t.Errorf("the timeline shows %q, want %q", got, all)
	}
	for _, code := range sweepEmails {
		v, err := l.ByCode.Find(ctx, code)
		if err != nil && !errors.Is(err, kv.ErrNotFound) || err == nil && v.Code != code {
			t.Errorf("by %s: %+v, %v", code, v, err)
		}
	}
	if err := l.db.Close(ctx); err != nil {
		t.Error(err)
	}
}
