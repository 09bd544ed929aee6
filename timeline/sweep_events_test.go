package timeline

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

type foot struct{ Owner, Guest string }

type plainJSON[T any] = proof.JSON[T]

func openFeet(s kv.Store, layout Layout, keep int) *Events[foot, string] {
	return NewEvents(quietDB(s), EventsSpec[foot, string]{
		Name: "Foot", Key: kvmodel.StringKey[string](), By: func(f *foot) string { return f.Owner }, Codec: plainJSON[foot]{},
		Once: func(f *foot) string { return f.Guest }, Keep: keep, Layout: layout,
	})
}

// footprints records, by guest, when pushes began and were acknowledged.
type footprints struct {
	mu     sync.Mutex
	now    int
	visits map[string][]span
	late   map[string]bool // guests whose event may arrive again at any time
}

// span is one push; end is 0 until it is acknowledged.
type span struct{ begin, end int }

func (f *footprints) begin(guest string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now++
	f.visits[guest] = append(f.visits[guest], span{begin: f.now})
}

func (f *footprints) ack(guest string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now++
	f.visits[guest][len(f.visits[guest])-1].end = f.now
}

// check asserts that every acknowledged guest is among the last, unless as many others as are kept
// may have come later.
func (f *footprints) check(t *testing.T, latest []foot, keep int) {
	t.Helper()
	shown := map[string]int{}
	for _, foot := range latest {
		shown[foot.Guest]++
	}
	for guest, n := range shown {
		if n > 1 {
			t.Errorf("%s is shown %d times", guest, n)
		}
	}
	for guest, visits := range f.visits {
		if others := f.after(guest, visits); shown[guest] == 0 && others >= 0 && others < keep {
			t.Errorf("%s was acknowledged and is gone, although only %d others can have come after", guest, others)
		}
	}
}

// after returns how many others may have come after the last acknowledged push of guest, -1 if
// there is none.
func (f *footprints) after(guest string, visits []span) int {
	last := span{}
	for _, v := range visits {
		if v.end > 0 {
			last = v
		}
	}
	if last.end == 0 {
		return -1
	}
	n := 0
	for other, theirs := range f.visits {
		later := func(v span) bool { return v.end == 0 || v.end > last.begin }
		if other != guest && (f.late[other] || slices.ContainsFunc(theirs, later)) {
			n++
		}
	}
	return n
}

func TestSweep_Events_WhatWasAcknowledgedStaysAmongTheLast(t *testing.T) {
	for name, layout := range map[string]Layout{"appended": Appended, "packed": Packed} {
		t.Run(name, func(t *testing.T) { sweepEvents(t, layout) })
	}
}

func sweepEvents(t *testing.T, layout Layout) {
	const keep = 2
	world, f := kvtest.Hostile(kvtest.NoPowers), new(footprints)
	world.Fault = func(m kvtest.Moment) kvtest.Fault {
		if m.Op.Kind == kv.Append && m.Step%9 == 0 {
			var of foot
			entries := decodeEntries(m.Op.Value)
			proof.Ends(t, nil)((plainJSON[foot]{}).Unmarshal(entries[0].body, &of))
			f.late[of.Guest] = true
			return kvtest.Late
		}
		if m.Op.Kind == kv.Append {
			return []kvtest.Fault{kvtest.None, kvtest.None, kvtest.Mute, kvtest.Lost, kvtest.None}[m.Step%5]
		}
		return kvtest.ByRate
	}
	proof.Sweep(t, 400, world, func(sim *kvtest.Sim) {
		f.visits, f.late, f.now = make(map[string][]span), make(map[string]bool), 0
		for _, name := range []string{"a", "b", "c"} {
			sim.Go(name, func(s kv.Store) { f.pushSome(openFeet(s, layout, keep), name) })
		}
		sim.Go("trimmer", func(s kv.Store) {
			e := openFeet(s, layout, keep)
			for range 4 {
				if a, ok := e.layout.(*appended); ok {
					_ = a.trim(context.Background(), s, a.keys("o")[0])
				}
			}
			closeDB(e.db)
		})
		sim.Wait()
		e := openFeet(sim.Still(), layout, keep)
		latest, err := e.Latest(context.Background(), "o", keep)
		must(sim.T(), err)
		f.check(sim.T(), latest, keep)
	})
}

func (f *footprints) pushSome(e *Events[foot, string], name string) {
	for i := range 4 {
		guest := fmt.Sprint(name, i%2)
		f.begin(guest)
		if err := e.Push(context.Background(), foot{"o", guest}); err == nil {
			f.ack(guest)
		}
	}
	closeDB(e.db)
}
