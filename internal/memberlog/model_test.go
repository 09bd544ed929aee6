package memberlog

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// Two or three processes work on one list, in every order of their operations, with every crash and
// with late writes. In every state, everything that was acknowledged or read must be there, and
// each member once.

type modelWorld struct {
	name    string
	vast    bool // millions of states if writers verify; sweeps try some of them
	bounds  proof.Bounds
	limits  Limits
	begin   func(l *Logs) error // fills the list first
	clients []modelClient
}

// modelClient is a process. It records its answers in w.
type modelClient struct {
	name string
	work func(l *Logs, w *truth)
}

var modelMembers = []string{"ann", "bob"}

func modelLogs(s kv.Store, limits Limits, process string) *Logs {
	n := 0
	return &Logs{
		Key:    func(place string) string { return "l:" + place },
		Store:  s,
		Now:    func() time.Time { return time.Unix(1_800_000_000, 0) },
		Soon:   func(func(context.Context) error) bool { return false },
		Limits: limits,
		names: func() (random name) {
			n++
			sum := sha256.Sum256(fmt.Append(nil, process, n))
			copy(random[:], sum[:])
			return random
		},
	}
}

func said(id string, rev uint64, in bool) Entry {
	e := Entry{ID: id, Rev: rev, In: in}
	if !in {
		e.At = 1_800_000_000
	}
	return e
}

func writes(entries ...Entry) modelClient {
	return modelClient{fmt.Sprint("writer of ", entries[0].ID), func(l *Logs, w *truth) {
		for _, e := range entries {
			if err := l.Write(context.Background(), l.Store, place, e); err == nil {
				w.acknowledged(e)
			} else if !errors.Is(err, kv.ErrConflict) && !kv.Failed(err) {
				w.complain("write %v: %v", e, err)
			}
		}
	}}
}

func reads(id string, times int) modelClient {
	return modelClient{"reader", func(l *Logs, w *truth) {
		for range times {
			floor := w.floor(id)
			got, err := entryOf(context.Background(), l, l.Store, place, id)
			if err == nil {
				w.read("the reader", got, floor)
			} else if !errors.Is(err, kv.ErrConflict) {
				w.complain("read: %v", err)
			}
		}
	}}
}

// rolls replaces count segments, from an index of the head on.
func rolls(at, count int) modelClient {
	return modelClient{"roller", func(l *Logs, w *truth) {
		ctx := context.Background()
		h, err := l.readHead(ctx, l.Store, place)
		if err != nil || at+count > len(h.parts) {
			return
		}
		var names []name
		for _, p := range h.parts[at : at+count] {
			names = append(names, p.name)
		}
		if err := l.roll(ctx, l.Store, place, names...); err != nil && !errors.Is(err, kv.ErrConflict) && !kv.Failed(err) {
			w.complain("roll: %v", err)
		}
	}}
}

func tends(at int) modelClient {
	return modelClient{"keeper", func(l *Logs, w *truth) {
		ctx := context.Background()
		h, err := l.readHead(ctx, l.Store, place)
		if err != nil || at >= len(h.parts) {
			return
		}
		if err := l.tend(ctx, place, h.parts[at].name); err != nil && !errors.Is(err, kv.ErrConflict) && !kv.Failed(err) {
			w.complain("tend: %v", err)
		}
	}}
}

func (m *modelWorld) explore(t *testing.T) int {
	return proof.Explore(t, m.bounds, func(x *proof.Exploration) {
		w := newTruth()
		if m.begin != nil {
			must(t, m.begin(modelLogs(x.Store(), m.limits, "before")))
		}
		for _, id := range modelMembers {
			// any entry that the processes are going to write
			w.said[id] = map[uint64]bool{0: false, 1: false, 2: false, 3: false}
			if e, err := entryOf(context.Background(), modelLogs(x.Store(), m.limits, ""), x.Store(), place, id); err == nil && e.Rev > 0 {
				w.acknowledged(e)
			}
		}
		for i, c := range m.clients {
			x.Go(c.name, func(s kv.Store) { c.work(modelLogs(s, m.limits, fmt.Sprint(c.name, i)), w) })
		}
		x.Sees(func() string { return fmt.Sprint(w.floors, w.wrong) })
		x.Always(func(s kv.Store) error { return m.holds(s, w) })
	})
}

func (m *modelWorld) holds(s kv.Store, w *truth) error {
	if len(w.wrong) > 0 {
		return errors.New(w.wrong[0])
	}
	ctx := context.Background()
	l := modelLogs(s, m.limits, "onlooker")
	for _, id := range modelMembers {
		got, err := entryOf(ctx, l, s, place, id)
		if err != nil {
			return err
		}
		if floor := w.floors[id]; floor.ID != "" && outdoes(floor, got) {
			return fmt.Errorf("there is %+v, but %+v was certain", got, floor)
		}
	}
	var ids []string
	if err := l.Each(ctx, s, place, func(id string) error { ids = append(ids, id); return nil }); err != nil {
		return err
	}
	slices.Sort(ids)
	if len(slices.Compact(slices.Clone(ids))) != len(ids) {
		return fmt.Errorf("a member is twice in %v", ids)
	}
	return nil
}

// With roomy no list is split, with narrow a list of two members is.
var (
	roomy  = Limits{Split: 1 << 10, Merge: 1, Slack: 1 << 10, Look: 1 << 60, Grace: time.Hour}
	narrow = Limits{Split: 8, Merge: 1, Slack: 1, Look: 1 << 60, Grace: time.Hour}
)

func beginWith(entries ...Entry) func(*Logs) error {
	return func(l *Logs) error {
		for _, e := range entries {
			if err := l.Write(context.Background(), l.Store, place, e); err != nil {
				return err
			}
		}
		return nil
	}
}

func divided(l *Logs) error {
	if err := beginWith(said("ann", 1, true), said("bob", 1, true))(l); err != nil {
		return err
	}
	return l.roll(context.Background(), l.Store, place, name{})
}

var modelWorlds = []modelWorld{
	{
		name: "a list begins while another adds", limits: roomy,
		bounds:  proof.Bounds{Crashes: 1, Unclear: 1},
		clients: []modelClient{writes(said("ann", 1, true)), writes(said("bob", 1, true))},
	},
	{
		name: "a writer, and one who replaces the first segment", limits: roomy,
		begin: beginWith(said("ann", 1, true)), bounds: proof.Bounds{Crashes: 1, Unclear: 1},
		clients: []modelClient{writes(said("ann", 2, false)), rolls(0, 1)},
	},
	{
		name: "a removal overtakes the addition it follows", vast: true, limits: roomy,
		begin: beginWith(said("bob", 1, true)), bounds: proof.Bounds{Crashes: 1},
		clients: []modelClient{writes(said("ann", 1, true)), writes(said("ann", 2, false)), rolls(0, 1)},
	},
	{
		name: "a writer, and two who replace the first segment", vast: true, limits: roomy,
		begin: beginWith(said("ann", 1, true)), bounds: proof.Bounds{Crashes: 1},
		clients: []modelClient{writes(said("ann", 2, false)), rolls(0, 1), rolls(0, 1)},
	},
	{
		name: "a reader beside a writer and one who replaces the first segment", limits: roomy,
		begin: beginWith(said("ann", 1, true)), bounds: proof.Bounds{Crashes: 1},
		clients: []modelClient{writes(said("ann", 2, false)), rolls(0, 1), reads("ann", 2)},
	},
	{
		name: "two writers, and one who folds in place", limits: Limits{Split: 1 << 10, Merge: 1, Slack: 1, Look: 1 << 60, Grace: time.Hour},
		begin: beginWith(said("ann", 1, true), said("ann", 2, false)), bounds: proof.Bounds{Crashes: 1},
		clients: []modelClient{writes(said("ann", 3, true)), writes(said("bob", 1, true)), tends(0)},
	},
	{
		name: "a writer, and one who divides the list", limits: narrow,
		begin: beginWith(said("ann", 1, true), said("bob", 1, true)), bounds: proof.Bounds{Crashes: 1, Unclear: 1},
		clients: []modelClient{writes(said("ann", 2, false), said("bob", 2, false)), rolls(0, 1)},
	},
	{
		name: "a writer, and two who divide the list", vast: true, limits: narrow,
		begin: beginWith(said("ann", 1, true), said("bob", 1, true)), bounds: proof.Bounds{},
		clients: []modelClient{writes(said("ann", 2, false)), rolls(0, 1), rolls(0, 1)},
	},
	{
		name: "a writer, one who joins two segments and one who replaces the first of them", vast: true, limits: roomy,
		begin: divideNarrow, bounds: proof.Bounds{},
		clients: []modelClient{writes(said("ann", 2, false)), rolls(0, 2), rolls(0, 1)},
	},
}

func divideNarrow(l *Logs) error {
	limits := l.Limits
	defer func() { l.Limits = limits }()
	l.Limits = narrow
	return divided(l)
}

// boundsWith returns the part of m to explore, and false if m would take too long.
func (m *modelWorld) boundsWith(powers kvtest.Powers) (proof.Bounds, bool) {
	b, verify, many := m.bounds, !powers.Unless, len(m.clients) > 2
	b.Powers, b.States = powers, 3_000_000
	switch {
	case (many || verify) && !proof.Long(), verify && m.vast:
		return b, false
	case !proof.Long():
		b.Unclear = 0
	case verify && many:
		b.Crashes = 0
	}
	return b, true
}

func TestModels_NothingIsLostOrComesBackInAnyOrder(t *testing.T) {
	for name, powers := range map[string]kvtest.Powers{"appends respect seals": kvtest.ServerPowers, "writers verify": kvtest.NoPowers} {
		var worlds []modelWorld
		for _, m := range modelWorlds {
			if bounds, ok := m.boundsWith(powers); ok {
				m.bounds = bounds
				worlds = append(worlds, m)
			}
		}
		for m := range proof.Part(t, worlds, worlds) {
			t.Run(name+"/"+m.name, func(t *testing.T) {
				begun := time.Now()
				t.Logf("%d states, %v", m.explore(t), time.Since(begun).Round(time.Millisecond))
			})
		}
	}
}
