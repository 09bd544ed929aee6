package kvmodel_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type viewed struct {
	ID    string
	Text  string
	Views int64 `json:"-"`
}

type views struct {
	*kvmodel.Records[viewed, string]
	db *kvmodel.DB
}

func openViews(t testing.TB, s kv.Store) *views { return newViews(open(t, s), 0) }

func newViews(db *kvmodel.DB, keep int) *views {
	return &views{kvmodel.NewRecords(db, kvmodel.Schema[viewed, string]{
		Name: "Viewed", Version: 1, History: keep,
		ID:       func(v *viewed) string { return v.ID },
		SetID:    func(v *viewed, id string) { v.ID = id },
		Key:      kvmodel.StringKey[string](),
		Codec:    asJSON[viewed]{},
		Counters: []kvmodel.CounterOf[viewed]{{Name: "Views", Set: func(v *viewed, n int64) { v.Views = n }}},
	}), db}
}

func (v *views) hit(t testing.TB, ctx context.Context, times int) {
	t.Helper()
	for range times {
		proof.Done(t)(v.db.Tally("Viewed", "Views").Add(ctx, "a", 1))
	}
}

func (v *views) wantViews(t testing.TB, ctx context.Context, want int64) {
	t.Helper()
	rec, err := v.Get(ctx, "a")
	must(t, err)
	proof.Equal(t, rec.Views, want, "it")
}

func touchesCounter(ops []kv.Op) bool {
	for _, op := range ops {
		if strings.HasPrefix(op.Key, "n:") {
			return true
		}
	}
	return false
}

func TestCounter_RepairDropsWhatADeadDeleterHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		dying := &mortal{Store: plain(mem)}
		a, b := openViews(t, dying), openViews(t, shared{plain(mem)})
		must(t, a.Create(ctx, &viewed{ID: "a"}))
		must(t, b.Create(ctx, &viewed{ID: "warm"}))
		a.hit(t, ctx, 3)
		must(t, a.db.Flush(ctx))
		dying.dies.Store(dying.trips.Load() + 3) // after A0 and A2
		must(t, a.Delete(ctx, "a"))
		time.Sleep(2 * time.Minute)
		must(t, b.db.Flush(ctx))
		if _, err := kv.One(ctx, mem, kv.OpGet("n:Viewed:Views:a")); err == nil {
			t.Error("the counter is still there")
		}
		must(t, b.db.Close(ctx))
		_ = a.db.Close(ctx) // It is dead.
	})
}

func TestCounter_ADeletionDropsItInOneTripAfterTheReply(t *testing.T) {
	for _, hits := range []int{0, 3} {
		ctx := t.Context()
		seen := tamper(plain(memkv.New(memkv.Options{})), nil)
		v := openViews(t, seen)
		must(t, v.Create(ctx, &viewed{ID: "a"}))
		v.hit(t, ctx, hits)
		must(t, v.db.Flush(ctx))
		trips, replied := 0, false
		seen.set(func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
			if replied && touchesCounter(ops) {
				trips++
			}
			for _, op := range ops {
				replied = replied || op.Kind == kv.CompareAndSwap && strings.HasPrefix(op.Key, "r:")
			}
			return next(ops)
		})
		must(t, v.Delete(ctx, "a"))
		must(t, v.db.Flush(ctx))
		proof.Equal(t, trips, 1, "after %d hits", hits)
		must(t, v.db.Close(ctx))
	}
}

func TestCounter_AFirstHitThatDiesHalfwayLeavesNoNumberOfNone(t *testing.T) {
	for dies := range 3 {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		ops := 0
		dying := tamper(plain(mem), func(_ context.Context, trip []kv.Op, next func([]kv.Op) error) error {
			if touchesCounter(trip) {
				if ops++; ops > dies {
					return kv.ErrUnavailable
				}
			}
			return next(trip)
		})
		v := openViews(t, dying)
		_, _ = v.db.Tally("Viewed", "Views").Add(ctx, "a", 1)
		if r, err := kv.One(ctx, mem, kv.OpGet("n:Viewed:Views:a")); err == nil && string(r.Value) != "1" {
			t.Errorf("after %d trips it is %s", dies, r.Value)
		}
	}
}

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

// A model of a plain counter of a record that is deleted and created again. Two processes delete
// it, two create it, and visitors hit it. A deleter may die, and then repair does its part; one
// drop may arrive late.

// dropping is a way to drop counters, with its possible faults.
type dropping struct {
	readAfter    bool // the deleter drops the value read after its commit
	recordFirst  bool // the guard reads the record and then the counter
	noCreator    bool // the creator leaves the counter alone
	oneTrip      bool // or drops the value read together with the tombstone
	blind        bool // or drops it unconditionally
	creatorLater bool // or drops it after its commit
}

// owner deletes the record or creates it again.
type owner struct {
	pc                    uint8
	rev                   uint8 // of the record, as read or written
	v, v2                 uint8 // of the counter, as read
	sawRecord, sawCounter bool  // in this trip
	dead                  bool
}

const over = 99

// counterState is a state of the model.
type counterState struct {
	live             bool
	incarnation, rev uint8
	version, next    uint8    // of the counter; 0: absent
	in               [3]uint8 // hits in the counter, by incarnation
	answered         [3]uint8 // answered hits
	deleters, makers [2]owner
	late             uint8 // the version in a drop in flight
	lates, hits      uint8
}

const whatever = 255 // a drop of any version

func (s *counterState) drop(version uint8) (done bool) {
	if s.version != 0 && (s.version == version || version == whatever) {
		s.version, s.in = 0, [3]uint8{}
		return true
	}
	return false
}

type tell = func(counterState, string, ...any)

func (o *dropping) steps(s counterState, step func(counterState, string, ...any)) {
	next := func(n counterState, format string, args ...any) {
		for i := range n.deleters {
			if n.deleters[i].pc == over {
				n.deleters[i] = owner{pc: over, dead: n.deleters[i].dead}
			}
			if n.makers[i].pc == over {
				n.makers[i] = owner{pc: over}
			}
		}
		step(n, format, args...)
	}
	if s.late != 0 {
		n := s
		n.late = 0
		done := n.drop(s.late)
		next(n, "a late drop arrives: %v", done)
	}
	if s.live && s.hits < 3 {
		n := s
		n.hits++
		n.next++
		n.version = n.next
		n.in[s.incarnation]++
		n.answered[s.incarnation]++
		next(n, "a hit of incarnation %d", s.incarnation)
	}
	for i := range s.deleters {
		o.delete(s, i, next)
		o.make(s, i, next)
	}
}

// try sends a drop that may be answered, or arrive late. left means that it found another version,
// or has no answer.
func (s counterState) try(step tell, who string, version uint8, then func(n *counterState, left bool)) {
	n := s
	there := n.version != 0
	done := n.drop(version)
	then(&n, there && !done)
	step(n, "%s drops what it read: %v", who, done)
	if s.lates == 0 && version != whatever && version != 0 {
		n = s
		n.late, n.lates = version, 1
		then(&n, true)
		step(n, "%s drops, and is not answered", who)
	}
}

// delete makes the possible steps of deleter i.
func (o *dropping) delete(s counterState, i int, step tell) {
	d, who := s.deleters[i], fmt.Sprint("deleter ", i)
	n := s
	q := &n.deleters[i]
	if !d.dead && d.pc > 1 && d.pc != over && !s.deleters[1-i].dead {
		n := s
		n.deleters[i] = owner{pc: 10, rev: d.rev, dead: true}
		step(n, "%s dies, and repair takes over", who)
	}
	ends := func(n *counterState, left bool) {
		if n.deleters[i].pc = over; left {
			n.deleters[i].pc = 10
		}
	}
	switch d.pc {
	case 0: // A0
		if s.live {
			q.pc, q.rev, q.v = 1, s.rev, s.version
			step(n, "%s reads rev %d, counter %d", who, s.rev, s.version)
		}
	case 1: // A2
		if s.rev != d.rev || !s.live {
			q.pc = over
			step(n, "%s has lost", who)
			return
		}
		n.live, n.rev = false, s.rev+1
		if q.pc, q.rev = 2, n.rev; o.readAfter {
			q.pc = 3
		}
		step(n, "%s deletes: rev %d", who, n.rev)
	case 2: // A4
		if d.v == 0 && s.version == 0 {
			q.pc = over
			step(n, "%s has nothing to drop", who)
			return
		}
		s.try(step, who, d.v, ends)
	case 3:
		if q.v, q.pc = s.version, 4; s.version == 0 {
			q.pc = over
		}
		step(n, "%s reads counter %d", who, s.version)
	case 4:
		s.try(step, who, d.v, func(n *counterState, _ bool) { n.deleters[i].pc = over })
	case 10, 11: // the guard: the counter, then the record, then the drop
		q.pc++
		if (d.pc == 10) != o.recordFirst {
			if q.v = s.version; s.version == 0 {
				q.pc = over
			}
			step(n, "%s reads counter %d", who, s.version)
			return
		}
		if s.live {
			q.pc = over
		}
		step(n, "%s reads rev %d, live %v", who, s.rev, s.live)
	case 12:
		s.try(step, who, d.v, ends)
	}
}

// make makes the possible steps of maker i.
func (o *dropping) make(s counterState, i int, step tell) {
	c, who := s.makers[i], fmt.Sprint("maker ", i)
	n := s
	q := &n.makers[i]
	again := func(n *counterState, left bool) {
		if n.makers[i].pc = 3; left {
			n.makers[i] = owner{}
		}
	}
	switch c.pc {
	case 0, 1: // two trips that read the record and its counter, in any order
		o.look(s, i, who, step)
	case 2: // A1
		switch {
		case o.blind:
			s.try(step, who, whatever, func(n *counterState, _ bool) { n.makers[i].pc = 3 })
		case c.v == 0:
			again(&n, s.version != 0)
			step(n, "%s looks for the counter: %d", who, s.version)
		default:
			s.try(step, who, c.v, again)
		}
	case 3: // A2
		q.pc = over
		if s.live || s.rev != c.rev {
			step(n, "%s has lost", who)
			return
		}
		n.live, n.rev, n.incarnation = true, s.rev+1, s.incarnation+1
		if o.creatorLater {
			q.pc = 4
		}
		step(n, "%s makes incarnation %d", who, n.incarnation)
	case 4:
		s.try(step, who, c.v, func(n *counterState, _ bool) { n.makers[i].pc = over })
	}
}

// look is a step of the trips in which maker i sees the tombstone.
func (o *dropping) look(s counterState, i int, who string, step tell) {
	c := s.makers[i]
	if !c.sawRecord && !s.live && s.incarnation < 2 && (c.pc == 0 || s.rev == c.rev) {
		n := s
		n.makers[i].sawRecord, n.makers[i].rev = true, s.rev
		step(n, "%s reads rev %d, deleted", who, s.rev)
	}
	if !c.sawRecord && c.pc == 1 && s.rev != c.rev {
		n := s
		n.makers[i] = owner{pc: over}
		step(n, "%s sees that it is late", who)
	}
	if !c.sawCounter {
		n := s
		if n.makers[i].sawCounter = true; c.pc == 0 {
			n.makers[i].v = s.version
		} else {
			n.makers[i].v2 = s.version
		}
		step(n, "%s reads counter %d", who, s.version)
	}
	if !c.sawRecord || !c.sawCounter {
		return
	}
	n := s
	q := &n.makers[i]
	q.sawRecord, q.sawCounter = false, false
	switch {
	case o.noCreator || o.creatorLater:
		q.pc = 3
	case o.oneTrip || o.blind || c.v == 0:
		q.pc = 2
	case c.pc == 1 && c.v2 != c.v: // The last read is repeated.
		q.v, q.v2 = c.v2, 0
		if c.v2 == 0 {
			q.pc = 2
		}
	default:
		q.pc++
	}
	step(n, "%s: the next trip", who)
}

func (o *dropping) wrong(s counterState) string {
	if !s.live {
		return ""
	}
	if s.in[s.incarnation] != s.answered[s.incarnation] {
		return fmt.Sprintf("%d hits of %d are there", s.in[s.incarnation], s.answered[s.incarnation])
	}
	for k := range s.incarnation {
		if s.in[k] > 0 {
			return fmt.Sprintf("incarnation %d shows hits of %d", s.incarnation, k)
		}
	}
	return ""
}

func (o dropping) reach(hits uint8) (int, error) {
	begin := counterState{live: true, rev: 1, hits: 3 - hits}
	return proof.Reach(proof.Model[counterState]{Begin: begin, Steps: o.steps, Wrong: o.wrong, Most: 30_000_000})
}

func TestModels_ARecordMadeAgainHasItsOwnHitsAndNoOthers(t *testing.T) {
	hits := uint8(1)
	if proof.Long() {
		hits = 3
	}
	states, err := dropping{}.reach(hits)
	proof.Is(t, err, nil)
	t.Logf("%d states", states)
	for name, o := range map[string]dropping{
		"the deleter drops what it reads after its commit": {readAfter: true},
		"the guard reads the record first":                 {recordFirst: true},
		"who makes it again leaves the counter":            {noCreator: true},
		"who makes it again drops it after its commit":     {creatorLater: true},
		"who makes it again trusts one trip":               {oneTrip: true},
		"who makes it again drops whatever is there":       {blind: true},
	} {
		if n, err := o.reach(hits); err == nil {
			t.Errorf("nothing notices that %s, in %d states", name, n)
		}
	}
}
