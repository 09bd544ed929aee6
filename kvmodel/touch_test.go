package kvmodel_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

type lease struct {
	ID, Owner, Code, Text string
	Rank, Version         int64
	Hits                  int64 `json:"-"`
	Updated, Until        time.Time
}

type leases struct {
	*kvmodel.Records[lease, string]
	db      *kvmodel.DB
	ByCode  *index.Unique[lease, string]
	ByOwner *index.Lists[lease, string, string]
	Newest  *timeline.Ring[lease]
}

func leaseSchema() kvmodel.Schema[lease, string] {
	return kvmodel.Schema[lease, string]{
		Name: "Lease", Version: 1,
		ID:       func(l *lease) string { return l.ID },
		SetID:    func(l *lease, id string) { l.ID = id },
		Key:      kvmodel.StringKey[string](),
		Codec:    asJSON[lease]{},
		Revision: func(l *lease) *int64 { return &l.Version },
		Updated:  func(l *lease) *time.Time { return &l.Updated },
		Expires:  func(l *lease) *time.Time { return &l.Until },
		Counters: []kvmodel.CounterOf[lease]{{Name: "Hits", Set: func(l *lease, n int64) { l.Hits = n }}},
	}
}

func newLeases(db *kvmodel.DB) *leases {
	r, text := kvmodel.NewRecords(db, leaseSchema()), kvmodel.StringKey[string]()
	return &leases{
		Records: r, db: db,
		ByCode: index.NewUnique(r, kvmodel.IndexSpec[lease, string]{
			Name: "ByCode", Fields: []string{"Code"}, Key: text, Values: func(l *lease) []string { return []string{l.Code} },
		}),
		ByOwner: index.NewLists(r, kvmodel.IndexSpec[lease, string]{
			Name: "ByOwner", Key: text, Values: func(l *lease) []string { return []string{l.Owner} },
		}),
		Newest: timeline.NewRing(r, timeline.Spec[lease]{
			Name: "Newest", Value: func(l *lease) string { return l.Text }, Shape: timeline.Shape{Size: 40, Segment: 5},
		}),
	}
}

func (l *leases) hit(t testing.TB, ctx context.Context, id string) {
	t.Helper()
	proof.Done(t)(l.db.Tally("Lease", "Hits").Add(ctx, id, 1))
}

func (l *leases) shown(ctx context.Context) map[string]string {
	all := map[string]string{}
	page := func(name string, from kvmodel.Lister[lease]) {
		listing, err := from.Page(ctx, "", 20)
		all[name] = leaseIDs(listing.Items, err)
	}
	page("ByOwner", l.ByOwner.Of("ann"))
	page("Newest", l.Newest)
	found, err := l.ByCode.FindMulti(ctx, []string{"a", "b"})
	all["ByCode"] = leaseIDs(slices.DeleteFunc(found, func(v *lease) bool { return v == nil }), err)
	return all
}

func leaseIDs(some []*lease, err error) string {
	if err != nil {
		return err.Error()
	}
	ids := kv.Texts(some, func(l *lease) string { return l.ID })
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

func (l *leases) wantShown(t testing.TB, ctx context.Context, ids ...string) {
	t.Helper()
	all := strings.Join(ids, " ")
	want := map[string]string{"ByOwner": all, "ByCode": all, "Newest": all}
	wantSame(t, want, l.shown(ctx), "at %v: shown", time.Since(bubbleBegins))
}

var bubbleBegins = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func newLease(id string, d time.Duration) *lease {
	return &lease{ID: id, Owner: "ann", Code: id, Text: "text of " + id, Rank: 7, Until: time.Now().Add(d)}
}

func eachLeases(t *testing.T, f func(t *testing.T, ctx context.Context, s kv.Store, l *leases)) {
	for name, as := range kinds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := as(memkv.New(memkv.Options{}))
				f(t, t.Context(), s, newLeases(closing(t, open(t, shared{s}))))
			})
		})
	}
}

func TestTouch_TheRecordLivesUntilThenAndIsNoNewVersion(t *testing.T) {
	eachLeases(t, func(t *testing.T, ctx context.Context, s kv.Store, l *leases) {
		must(t, l.Create(ctx, newLease("a", time.Hour)))
		was, err := l.Get(ctx, "a")
		must(t, err)
		time.Sleep(30 * time.Minute)
		until := time.Now().Add(3 * time.Hour)
		must(t, l.Touch(ctx, "a", until))
		got, err := l.Get(ctx, "a")
		must(t, err)
		was.Until = until.UTC()
		got.Until = got.Until.UTC()
		wantSame(t, was, got, "mismatch")
		// A Put of a value read earlier is not refused, and brings back the end of that value.
		must(t, l.Put(ctx, got))
		time.Sleep(3*time.Hour - time.Millisecond)
		if _, err := l.Get(ctx, "a"); err != nil {
			t.Error("before its end:", err)
		}
		time.Sleep(time.Millisecond)
		proof.Ends(t, kv.ErrNotFound)(l.Get(ctx, "a"))
	})
}

func TestTouch_EveryIndexFollows(t *testing.T) {
	for _, c := range []struct {
		name      string
		was       time.Duration // of the life, 0: forever
		at, until time.Duration
	}{
		{"long before the end", time.Hour, 10 * time.Minute, 5 * time.Hour},
		{"a minute before the end", time.Hour, 59 * time.Minute, 5 * time.Hour},
		{"a moment before the end", time.Hour, time.Hour - time.Second, 5 * time.Hour},
		{"to an earlier end", 10 * time.Hour, 10 * time.Minute, 5 * time.Hour},
		{"of what would never end", 0, 10 * time.Minute, 5 * time.Hour},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachLeases(t, func(t *testing.T, ctx context.Context, s kv.Store, l *leases) {
				v := newLease("a", c.was)
				if c.was == 0 {
					v.Until = time.Time{}
				}
				must(t, l.Create(ctx, v))
				l.hit(t, ctx, "a")
				must(t, l.db.Flush(ctx))
				time.Sleep(c.at)
				must(t, l.Touch(ctx, "a", bubbleBegins.Add(c.until)))
				for time.Now().Before(bubbleBegins.Add(c.until)) {
					l.wantShown(t, ctx, "a")
					wantErr(t, l.Create(ctx, &lease{ID: "other", Code: "a"}), kv.ErrExists)
					time.Sleep(20 * time.Minute)
				}
				time.Sleep(10 * time.Minute)
				l.wantShown(t, ctx)
				must(t, l.db.Flush(ctx))
				time.Sleep(time.Hour)
				proof.Ends(t, kv.ErrNotFound)(kv.One(ctx, s, kv.OpGet("u:Lease:ByCode:a")))
			})
		})
	}
}

func TestTouch_WhatCannotBeIsRefused(t *testing.T) {
	eachLeases(t, func(t *testing.T, ctx context.Context, s kv.Store, l *leases) {
		must(t, l.Create(ctx, newLease("a", time.Hour)))
		must(t, l.Create(ctx, newLease("deleted", time.Hour)))
		must(t, l.Delete(ctx, "deleted"))
		must(t, l.Create(ctx, newLease("expired", time.Second)))
		_, err := l.Get(ctx, "expired") // It was read a moment ago.
		must(t, err)
		time.Sleep(time.Second)
		soon := time.Now().Add(time.Hour)
		for _, id := range []string{"absent", "deleted", "expired", ""} {
			err := l.Touch(ctx, id, soon)
			wantErr(t, err, kv.ErrNotFound)
			proof.Contains(t, fmt.Sprint(err), "Lease")
		}
		for _, until := range []time.Time{{}, time.Now(), time.Now().Add(-time.Hour), time.Now().Add(kv.MaxTTL + time.Hour)} {
			wantErr(t, l.Touch(ctx, "a", until), kvmodel.ErrInvalid)
		}
		wantErr(t, kvmodel.NewRecords(l.db, simpleNotes()).Touch(ctx, "a", soon), kv.ErrBadOp)
		reader := newLeases(closing(t, open(t, shared{s}, kvmodel.ReadOnly())))
		wantErr(t, reader.Touch(ctx, "a", soon), kvmodel.ErrReadOnly)
		if v, err := l.Get(ctx, "a"); err != nil || !v.Until.Equal(bubbleBegins.Add(time.Hour)) {
			t.Errorf("got %+v, %v", v, err)
		}
	})
}

func TestTouch_Trips(t *testing.T) {
	const hour = time.Hour
	for _, c := range []struct {
		name        string
		at, until   time.Duration // of a record that lives for an hour
		read        bool          // a moment ago
		server, one int           // trips where a trip has an order, and where it has none
	}{
		{"after a read", hour / 2, 2 * hour, true, 1, 2},
		{"without a read", hour / 2, 2 * hour, false, 2, 3},
		{"to an earlier end, after a read", hour / 4, hour / 2, true, 1, 2},
		{"to an earlier end, without a read", hour / 4, hour / 2, false, 2, 3},
		{"in the last two minutes, after a read", hour - 2*time.Minute, 2 * hour, true, 4, 4}, // It claims its value again.
		{"in the last two minutes, without a read", hour - 2*time.Minute, 2 * hour, false, 5, 5},
		{"to the end that it has", hour / 2, hour, true, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachLeases(t, func(t *testing.T, ctx context.Context, s kv.Store, l *leases) {
				if kv.PowersOf(s).Atomic != nil {
					return
				}
				want := c.one
				if kv.PowersOf(s).Ordered {
					want = c.server
				}
				must(t, l.Create(ctx, newLease("a", hour)))
				must(t, l.Create(ctx, newLease("b", hour)))
				time.Sleep(c.at)
				must(t, l.Touch(ctx, "b", time.Now().Add(hour))) // It checks that nothing has changed.
				must(t, l.db.Flush(ctx))
				if c.read {
					proof.Done(t)(l.Get(ctx, "a"))
				}
				got := cost(t, ctx, func(ctx context.Context) error { return l.Touch(ctx, "a", bubbleBegins.Add(c.until)) })
				if got.Trips != want {
					t.Errorf("%v, want %d trips", got, want)
				}
			})
		})
	}
}

func TestTouch_IsAChangeToHandlers(t *testing.T) {
	eachLeases(t, func(t *testing.T, ctx context.Context, s kv.Store, l *leases) {
		var heard []time.Time
		l.OnChange(func(_ context.Context, c kvmodel.Change[lease, string]) error {
			heard = append(heard, c.Record.Until.UTC())
			return nil
		})
		must(t, l.Create(ctx, newLease("a", time.Hour)))
		must(t, l.db.Flush(ctx))
		until := bubbleBegins.Add(2 * time.Hour)
		must(t, l.Touch(ctx, "a", until))
		must(t, l.Touch(ctx, "a", until)) // This changes nothing.
		must(t, l.db.Flush(ctx))
		wantSame(t, []time.Time{bubbleBegins.Add(time.Hour), until}, heard, "heard")
	})
}

// The process dies right after the write of the record.
func TestTouch_ACrashAfterTheCommitIsMadeUpForBeforeTheOldEnd(t *testing.T) {
	for name, as := range kinds {
		moments := []time.Duration{57*time.Minute + 59*time.Second, 58 * time.Minute, 59*time.Minute + 59*time.Second}
		for at := range proof.Part(t, moments[1:2], moments) {
			t.Run(fmt.Sprint(name, " at ", at), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					ctx, s := t.Context(), as(memkv.New(memkv.Options{}))
					life, doom := doomed(s)
					touching := newLeases(open(t, life))
					t.Cleanup(func() { _ = touching.db.Close(context.Background()) })
					// The clock of other is ahead, so it takes entries for ended early.
					ahead := kvmodel.Clock(func() time.Time { return time.Now().Add(time.Minute) })
					other := newLeases(closing(t, open(t, shared{s}, ahead)))
					must(t, touching.Create(ctx, newLease("a", time.Hour)))
					touching.hit(t, ctx, "a")
					must(t, touching.db.Flush(ctx))
					if at < 59*time.Minute { // Until then the record has not ended by the clock of other.
						other.wantShown(t, ctx, "a")
					}
					time.Sleep(at)
					doom()
					must(t, touching.Touch(ctx, "a", bubbleBegins.Add(5*time.Hour)))
					for range 3 * 12 {
						missing(t, ctx, other)
						time.Sleep(5 * time.Second)
					}
					time.Sleep(time.Until(bubbleBegins.Add(4 * time.Hour)))
					other.wantShown(t, ctx, "a")
				})
			})
		}
	}
}

func missing(t *testing.T, ctx context.Context, l *leases) {
	t.Helper()
	for name, got := range l.shown(ctx) {
		if !strings.HasPrefix(got, "a") {
			t.Errorf("%s shows %q", name, got)
		}
	}
}

func writesLease(ops []kv.Op) bool {
	return slices.ContainsFunc(ops, func(op kv.Op) bool {
		return op.Kind == kv.CompareAndSwap && strings.HasPrefix(op.Key, "r:Lease:")
	})
}

// doomed returns a store and a function that arms it: the process dies after its next write of a
// record of a lease.
func doomed(s kv.Store) (life *mortal, doom func()) {
	var armed atomic.Bool
	life = new(mortal)
	life.Store = kv.Trace(s, func(_ context.Context, trip kv.Trip) {
		if armed.Load() && writesLease(trip.Ops) {
			life.kill()
		}
	})
	return life, func() { armed.Store(true) }
}

// The store is away from the commit until long after the old end, when nothing of the ended lease
// is left.
func TestTouch_WhatFollowsAfterTheOldEndIsMadeAnew(t *testing.T) {
	eachLeases(t, func(t *testing.T, ctx context.Context, s kv.Store, other *leases) {
		if kv.PowersOf(s).Atomic != nil {
			return // Nothing follows.
		}
		life, doom := doomed(s)
		l := newLeases(closing(t, open(t, life)))
		must(t, l.Create(ctx, newLease("a", time.Hour)))
		l.hit(t, ctx, "a")
		must(t, other.db.Close(ctx)) // Otherwise it would repair.
		time.Sleep(57 * time.Minute)
		doom()
		must(t, l.Touch(ctx, "a", bubbleBegins.Add(5*time.Hour)))
		time.Sleep(8 * time.Minute)
		again := newLeases(open(t, shared{s}))
		must(t, again.Create(ctx, &lease{ID: "b", Rank: 7, Owner: "ann", Code: "b", Text: "text"}))
		again.hit(t, ctx, "b")
		must(t, again.db.Close(ctx))
		life.dead.Store(false)
		time.Sleep(time.Minute)
		must(t, l.db.Flush(ctx))
		l.wantShown(t, ctx, "a", "b")
	})
}

// No line is answered, nor the first two commits, and none of them is carried out.
func TestTouch_WithoutALineTheRecordIsNotWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, s := t.Context(), powers{memkv.New(memkv.Options{}), kv.Powers{Unless: true, Ordered: true}}
		silent := tamper(s, nil)
		l := newLeases(closing(t, open(t, silent)))
		must(t, l.Create(ctx, newLease("a", time.Hour)))
		must(t, l.db.Flush(ctx))
		commits := 0
		silent.set(func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
			for i := range ops {
				commit := writesLease(ops[i : i+1])
				if commit {
					commits++
				}
				if op := &ops[i]; op.Kind == kv.Append && strings.HasPrefix(op.Key, "line:") || commit && commits <= 2 {
					op.Result = kv.Result{Err: kv.ErrUnclear}
				} else {
					_ = next(ops[i : i+1])
				}
			}
			return kv.Unanswered(ops)
		})
		wantErr(t, l.Touch(ctx, "a", bubbleBegins.Add(2*time.Hour)), kv.ErrUnclear)
		if commits < 2 {
			t.Errorf("it was sent %d times", commits)
		}
		silent.set(nil)
		must(t, l.db.Flush(ctx))
		if v, err := l.Get(ctx, "a"); err != nil || !v.Until.Equal(bubbleBegins.Add(time.Hour)) {
			t.Errorf("got %+v, %v", v, err)
		}
	})
}

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
	proof.Equal(t, leaseIDs(page.Items, err), all, "the timeline")
	for _, code := range sweepEmails {
		v, err := l.ByCode.Find(ctx, code)
		if err != nil && !errors.Is(err, kv.ErrNotFound) || err == nil && v.Code != code {
			t.Errorf("by %s: %+v, %v", code, v, err)
		}
	}
	proof.Is(t, l.db.Close(ctx), nil)
}
