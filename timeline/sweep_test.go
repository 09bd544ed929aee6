package timeline

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// Processes push to a lane, read it and trim it, while requests fail, time out and arrive late,
// clients sleep and crash, and counters are lost. The sweeps assert what docs/timeline.md promises:
//
//	S1  an acknowledged entry leaves its segment only when a newer block is there
//	S2  and is shown until Size newer numbers were handed out
//	S3  entries acknowledged before a push began have lower stamps
//	S4  a page has no hole

type ledger struct {
	mu    sync.Mutex
	acked map[string]int64 // stamps by body
	lost  int64            // how many numbers may be unused
	wrong []string
}

func newLedger() *ledger { return &ledger{acked: make(map[string]int64), lost: 1 << 40} }

func (b *ledger) complain(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
}

func (b *ledger) ack(body string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.acked[body] = n
}

func (b *ledger) known() (acked map[string]int64, top int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.acked {
		top = max(top, n)
	}
	return maps.Clone(b.acked), top
}

func simLane(s kv.Store, shape Shape) *lane { return laneOf(quietDB(s), shape) }

func laneOf(db *kvmodel.DB, shape Shape) *lane {
	return newLane(newProcess(db), "t:T:N:", shape.shape())
}

func quietDB(s kv.Store) *kvmodel.DB {
	db, err := kvmodel.Open(s, kvmodel.Log(slog.New(slog.DiscardHandler)))
	if err != nil {
		panic(err)
	}
	return db
}

func (l *lane) close() { closeDB(l.db) }

func closeDB(db plug.DB) {
	// the upkeep of a crashed process takes no longer than its sleep
	_ = db.(interface{ Close(context.Context) error }).Close(context.Background())
}

// pushSome checks S3 for each of n entries.
func (b *ledger) pushSome(l *lane, name string, n int, ordered bool) {
	for i := range n {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, before := b.known()
		body := fmt.Sprint(name, i)
		stamp, err := l.push(ctx, body)
		if err == nil {
			if stamp <= before && ordered {
				b.complain("%s got the stamp %d, although %d was acknowledged before", body, stamp, before)
			}
			b.ack(body, stamp)
		}
		cancel()
	}
	l.close()
}

// readSome checks S4 for each of n pages.
func (b *ledger) readSome(l *lane, n, size int) {
	for range n {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		b.readPage(ctx, l, l.db.Store(), size)
		cancel()
	}
	l.close()
}

func (b *ledger) readPage(ctx context.Context, l *lane, s kv.Store, size int) {
	acked, _ := b.known()
	m := newMerge(s, []*lane{l}, false, nil, size)
	m.readers[0].step = 1 // so that small rings take more than one trip
	if m.open(ctx) != nil {
		return
	}
	items, err := m.gather(ctx, size, func(string) bool { return false })
	if err != nil {
		return
	}
	lowest := int64(0)
	if len(items) < size {
		lowest = l.shape.firstShown(m.readers[0].top)
	} else {
		lowest = items[len(items)-1].stamp
	}
	shown := map[string]bool{}
	for _, it := range items {
		shown[string(it.body)] = true
	}
	for body, n := range acked {
		if n > lowest && !shown[body] {
			b.complain("%s of stamp %d was acknowledged before the read began and is not on a page that goes to %d", body, n, lowest)
		}
	}
	for i := 1; i < len(items); i++ {
		if items[i-1].stamp < items[i].stamp {
			b.complain("a page is out of order at %d", items[i].stamp)
		}
	}
}

// check asserts S1 and, if whole, S2, once nothing is in flight.
func (b *ledger) check(sim *kvtest.Sim, l *lane, whole bool) {
	t, ctx := sim.T(), context.Background()
	g := l.shape
	top, _, err := l.readCounter(ctx, sim.Store())
	must(t, err)
	bodies := slices.Sorted(maps.Keys(b.acked))
	for _, body := range bodies {
		n := b.acked[body]
		at := g.segment(g.block(n))
		key := l.key(at)
		r, _ := kv.One(ctx, sim.Store(), kv.OpGet(key))
		seg, err := l.decode(at, key, r)
		must(t, err)
		there := slices.ContainsFunc(seg.entries, func(e entry) bool { return e.stamp == n && string(e.body) == body })
		if !there && g.block(highest(seg.entries)) <= g.block(n) {
			t.Errorf("%s of stamp %d was acknowledged and is gone, and no newer block has its segment", body, n)
		}
		if pushes := int64(len(b.acked)); whole && n < g.oldest(top) && pushes+b.lost < g.size {
			t.Errorf("%s of stamp %d was acknowledged and is lapped at %d by %d pushes", body, n, top, pushes)
		}
		if !there && whole && n >= g.oldest(top) {
			t.Errorf("%s of stamp %d was acknowledged and is gone at %d", body, n, top)
		}
	}
	for _, wrong := range b.wrong {
		t.Error(wrong)
	}
}

var sweptShapes = []Shape{{Size: 2, Segment: 2}, {Size: 1, Segment: 1}, {Size: 2, Segment: 1}, {Size: 3, Segment: 2}, {Size: 8, Segment: 2}}

func sweepLane(t *testing.T, n int, world kvtest.World, f func(sim *kvtest.Sim, b *ledger, shape Shape)) {
	proof.Sweep(t, n, world, func(sim *kvtest.Sim) {
		shape := sweptShapes[int(sim.Seed())%len(sweptShapes)]
		b := newLedger()
		f(sim, b, shape)
		b.check(sim, simLane(sim.Still(), shape), true)
	})
}

type still struct{ kv.Store }

func (still) Powers() kv.Powers { return kv.Powers{} }
func (still) Close() error      { return nil }

func allAtOnce(sim *kvtest.Sim, b *ledger, shape Shape, ordered bool) {
	for i := range 3 {
		name := string(rune('a' + i))
		each := 2 + sim.Rand().IntN(3)
		sim.Go(name, func(s kv.Store) { b.pushSome(simLane(s, shape), name, each, ordered) })
	}
	sim.Go("reader", func(s kv.Store) { b.readSome(simLane(s, shape), 3, 2) })
	sim.Go("trimmer", func(s kv.Store) {
		l := simLane(s, shape)
		for i := range 2 * l.shape.blocks {
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			_ = l.trim(ctx, s, i%l.shape.blocks, lastStamp)
			cancel()
		}
		l.close()
	})
	sim.Wait()
}

func TestSweep_Lane_NothingIsLostAndNoPageHasAHole(t *testing.T) {
	for name, powers := range map[string]kvtest.Powers{"server": kvtest.ServerPowers, "none": kvtest.NoPowers} {
		t.Run(name, func(t *testing.T) {
			sweepLane(t, 400, kvtest.Hostile(powers), func(sim *kvtest.Sim, b *ledger, shape Shape) {
				allAtOnce(sim, b, shape, true)
			})
		})
	}
}

func TestSweep_Lane_ASleeperClobbersNothing(t *testing.T) {
	world := kvtest.World{Slow: 0.3, Late: 0.05}
	sweepLane(t, 500, world, func(sim *kvtest.Sim, b *ledger, shape Shape) { allAtOnce(sim, b, shape, true) })
}

func isCounter(key string) bool { return strings.HasSuffix(key, "#n") }

// If few pushes are under way at the time of a loss, the order is kept.
func TestSweep_Lane_ALostCounterHidesNothingAndKeepsTheOrder(t *testing.T) {
	world := kvtest.World{Late: 0.03, Fault: func(m kvtest.Moment) kvtest.Fault {
		if isCounter(m.Op.Key) {
			return kvtest.None
		}
		return kvtest.ByRate
	}}
	lostCounter(t, world, func(sim *kvtest.Sim) {
		sim.Steps(sim.Rand().IntN(150))
		sim.Evict("t:T:N:#n")
	}, true)
}

// Even while it is created. The order may suffer, and a page may miss an entry for a moment.
func TestSweep_Lane_ACounterLostOftenTakesNothingWithIt(t *testing.T) {
	world := kvtest.World{Evict: 0.03, Evictable: isCounter, Late: 0.05, Mute: 0.03}
	lostCounter(t, world, func(*kvtest.Sim) {}, false)
}

func lostCounter(t *testing.T, world kvtest.World, lose func(*kvtest.Sim), ordered bool) {
	proof.Sweep(t, 400, world, func(sim *kvtest.Sim) {
		b, shape := newLedger(), Shape{Size: 32, Segment: 2}
		// an empty lane cannot tell how far a lost counter was
		b.pushSome(simLane(sim.Still(), shape), "first", 2, true)
		for _, name := range []string{"a", "b"} {
			sim.Go(name, func(s kv.Store) { b.pushSome(simLane(s, shape), name, 6, ordered) })
		}
		if ordered {
			sim.Go("reader", func(s kv.Store) { b.readSome(simLane(s, shape), 4, 2) })
		}
		if lose(sim); ordered {
			b.lost = 2 * (shape.shape().next(0) + 1) // the loss, and a number raised because of it
		}
		sim.Wait()
		b.check(sim, simLane(sim.Still(), shape), ordered)
	})
}

// Processes push one after another. In between, the counter goes back, by a few numbers or by laps,
// or is lost or no number. Then a read must show the last push as the newest entry.
func TestSweep_Lane_AWrongCounterHidesNoLaterPush(t *testing.T) {
	proof.Sweep(t, 400, kvtest.World{}, func(sim *kvtest.Sim) {
		shape := sweptShapes[int(sim.Seed())%len(sweptShapes)]
		b := newLedger()
		var known *lane
		for i := range 12 {
			name := fmt.Sprint("p", i)
			sim.Do(name, func(s kv.Store) {
				l := simLane(s, shape)
				if known != nil && sim.Rand().IntN(2) == 0 {
					l = known
				}
				n, err := l.push(context.Background(), name)
				must(sim.T(), err)
				b.ack(name, n)
				known = l
			})
			sim.Do("reader"+name, func(s kv.Store) {
				l := simLane(s, shape)
				m := newMerge(s, []*lane{l}, false, nil, 1)
				must(sim.T(), m.open(context.Background()))
				items, err := m.gather(context.Background(), 1, func(string) bool { return false })
				if err != nil || len(items) != 1 || string(items[0].body) != name {
					sim.T().Errorf("after %s was pushed with %d the newest is %v, %v", name, b.acked[name], items, err)
				}
			})
			damage(sim)
		}
		sim.Wait()
	})
}

func damage(sim *kvtest.Sim) {
	ctx, mem, key := context.Background(), sim.Store(), "t:T:N:#n"
	switch sim.Rand().IntN(5) {
	case 0:
		sim.Evict(key)
	case 1:
		r, _ := kv.One(ctx, mem, kv.OpGet(key))
		n, _ := kv.ParseNumber(r.Value)
		sim.SetBack(key, max(0, n-1-sim.Rand().Int64N(20)))
	case 2:
		bad := []string{"", "x", "-1", fmt.Sprint(kv.MaxNumber - 3), "99999999999999999999"}[sim.Rand().IntN(5)]
		_, _ = kv.One(ctx, mem, kv.OpSet(key, []byte(bad)))
	}
}

func TestSweep_Lane_ALostSegmentTakesNoOtherWithIt(t *testing.T) {
	world := kvtest.World{Evict: 0.05, Evictable: func(key string) bool { return strings.HasSuffix(key, ".0") }, Late: 0.03}
	proof.Sweep(t, 300, world, func(sim *kvtest.Sim) {
		b, shape := newLedger(), Shape{Size: 6, Segment: 2}
		for _, name := range []string{"a", "b", "c"} {
			sim.Go(name, func(s kv.Store) { b.pushSome(simLane(s, shape), name, 4, true) })
		}
		sim.Wait()
		l := simLane(sim.Still(), shape)
		for body, n := range b.acked {
			if l.shape.segment(l.shape.block(n)) == 0 {
				delete(b.acked, body)
			}
		}
		b.check(sim, l, true)
	})
}

func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_Lane_NothingIsLostAndNoPageHasAHole", "blind add t:", "lost append t:", "lost incr t:")
	proof.Notices(t, "TestSweep_Lane_ASleeperClobbersNothing", "blind cas t:")
	proof.Notices(t, "TestSweep_Events_WhatWasAcknowledgedStaysAmongTheLast", "blind cas e:", "lost append e:")
	proof.Notices(t, "TestSweep_Records_InATransaction", "lost add t:")
	proof.Notices(t, "TestSweep_Records_AfterACrashAnywhereTheTimelineIsTheFunctionOfTheRecords", "lost append t:", "lost add t:")
	proof.Notices(t, "TestSweep_Records_InAnyOrderOfATrip", "lost append t:")
	proof.Notices(t, "TestSweep_Records_WithoutACrashAProcessCleansUpItself", "lost append t:")
	proof.Notices(t, "TestSweep_Build_SeveralAtATimeHideNothing", "lost append t:")
	if proof.Long() { // these take a second or more each
		proof.Notices(t, "TestSweep_Records_InATransaction", "lost incr t:")
		proof.Notices(t, "TestSweep_Records_WithoutACrashAProcessCleansUpItself", "blind add t:")
		proof.Notices(t, "TestSweep_Several_EachRecordStandsOnceInEachOfItsRings", "lost append t:")
		proof.Notices(t, "TestSweep_Feed_EveryFollowerGetsEveryPageAfterACrashAnywhere", "lost append line:")
	}
}
