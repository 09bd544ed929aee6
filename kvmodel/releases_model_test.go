package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// The model of two releases side by side: an old one that lacks an index, and writes; a builder of
// the index; and a reader that caches whether the index is complete. There is one record, and the
// index has one entry. The old one may stall anywhere.

// side selects the mistakes of a wrong protocol.
type side struct {
	claimFirst  bool // the built item is read before the journal has a head
	blindMark   bool // the mark ignores the token
	headsFirst  bool // the heads are read before there is a token
	noFence     bool // records are not fenced
	noPause     bool // the build does not wait for writers that looked earlier
	noLook      bool // a writer that stalled does not look again
	noWait      bool // the old one does not wait after it removes an index from the built item
	readForever bool // the reader looks once

	begunWhole bool // the index is complete at first
}

// sideState is a state of the model.
type sideState struct {
	whole, token bool  // the built item
	bver         uint8 // its version
	head         bool  // of the old one's journal
	dead         bool  // no tick for 30 seconds
	rver         uint8 // of the record
	rval, ival   uint8 // in the record, and in the index
	cached       bool  // the reader takes the index for complete
	old          oldState
	build        buildState
	sleeps       uint8
}

type oldState struct {
	pc, base, bver, left uint8
	late, waits          bool
	before               bool // it looked before it ticked again, which is good for 20 seconds
}

type buildState struct {
	pc, ver, val, tries uint8
	fencing             bool
}

const (
	oldBegins, oldLooks, oldTakesOut, oldIdle, oldWrites, oldOpens = 0, 1, 2, 3, 4, 5
	bBegins, bHeads, bPause, bReads, bEnters, bFences, bMarks      = 0, 1, 2, 3, 4, 5, 6
)

func (o *side) wrong(s sideState) string {
	if s.cached && s.ival != s.rval {
		return fmt.Sprintf("the reader takes the index for whole, and it has %d for %d", s.ival, s.rval)
	}
	return ""
}

type sideStep = func(sideState, string, ...any)

func (o *side) steps(s sideState, step sideStep) {
	o.write(s, step)
	o.build(s, step)
	n := s
	if s.sleeps < 2 && s.head {
		n.sleeps++
		n.old.late, n.dead = true, true
		step(n, "the old one does not tick for 30 seconds")
	}
	if n = s; s.cached != s.whole && !(o.readForever && s.cached) {
		n.cached = s.whole
		step(n, "the reader looks at built")
	}
	if n = s; s.old.waits && (s.cached == s.whole || o.readForever) {
		n.old.waits = false
		step(n, "the old one has waited")
	}
	if n = s; s.head && s.dead && s.old.pc != oldBegins {
		n.dead, n.old.before = false, true
		step(n, "the old one ticks again")
	}
}

// write is a step of the old one.
func (o *side) write(s sideState, step sideStep) {
	n, q := s, s.old
	switch q.pc {
	case oldBegins:
		n.old.pc, n.old.late = oldLooks, false
		if !o.claimFirst {
			n.head, n.dead = true, false
		}
		step(n, "the old one opens a journal")
	case oldLooks:
		n.old.bver, n.old.pc, n.old.before = s.bver, oldTakesOut, false
		if !s.whole && !s.token {
			n.old.pc = oldOpens
		}
		step(n, "the old one looks at built")
	case oldTakesOut:
		if n.old.pc = oldLooks; s.bver == q.bver {
			n.whole, n.token, n.bver = false, false, s.bver+1
			n.old.pc, n.old.waits = oldOpens, !o.noWait
		}
		step(n, "the old one takes the index out")
	case oldOpens:
		n.old.pc = oldIdle
		if !n.head {
			n.head, n.dead = true, false
		}
		step(n, "the old one is ready")
	case oldIdle:
		switch {
		case q.waits || q.left == 0:
		case q.late && !o.noLook:
			n.old.late, n.old.before = false, false
			if s.whole || s.token {
				n.old.pc = oldLooks
			}
			step(n, "the old one looks before it writes")
		default:
			n.old.pc, n.old.base = oldWrites, s.rver
			n.old.left--
			step(n, "the old one reads the record")
		}
	case oldWrites:
		if n.old.pc = oldIdle; s.rver == q.base {
			n.rver++
			n.rval++
		}
		step(n, "the old one writes the record: %v", s.rver == q.base)
	}
}

// build is a step of the builder.
func (o *side) build(s sideState, step sideStep) {
	n, b := s, s.build
	switch b.pc {
	case bBegins:
		if s.whole || b.tries == 2 {
			return
		}
		n.build = buildState{pc: bHeads, tries: b.tries + 1}
		if !o.headsFirst && !s.token {
			n.token, n.bver = true, s.bver+1
		}
		step(n, "the builder names the index as building")
	case bHeads:
		switch {
		case !s.head:
			n.build.pc = bReads
		case !s.dead:
			n.build.pc = bBegins
		default:
			n.build.pc = bPause
		}
		step(n, "the builder reads the heads")
	case bPause:
		// By now a process that did not stall has sent what it began earlier, and looks again.
		if !o.noPause && s.old.pc == oldWrites && !s.old.late {
			return
		}
		n.build.pc, n.build.fencing = bReads, true
		if !o.noPause {
			n.old.late = s.old.late || s.dead || s.old.before
		}
		step(n, "20 seconds have passed since the builder began")
	case bReads:
		if o.headsFirst && !s.token {
			n.token, n.bver = true, s.bver+1
		}
		n.build.ver, n.build.val, n.build.pc = s.rver, s.rval, bEnters
		step(n, "the builder reads the record")
	case bEnters:
		if n.ival, n.build.pc = b.val, bMarks; b.fencing && !o.noFence {
			n.build.pc = bFences
		}
		step(n, "the builder enters the record")
	case bFences:
		if n.build.pc = bReads; s.rver == b.ver {
			n.build.pc, n.rver = bMarks, s.rver+1
		}
		step(n, "the builder fences the record: %v", s.rver == b.ver)
	case bMarks:
		if n.build.pc = bBegins; s.token || o.blindMark {
			n.whole, n.token, n.bver = true, false, s.bver+1
		}
		step(n, "the builder marks the index: %v", n.whole)
	}
}

func (o side) reach() (int, error) {
	var s sideState
	s.old.left = 3
	s.whole, s.cached = o.begunWhole, o.begunWhole
	return proof.Reach(proof.Model[sideState]{Begin: s, Steps: o.steps, Wrong: o.wrong, Most: 3_000_000})
}

func TestModels_AnIndexThatCountsAsWholeHoldsEveryRecord(t *testing.T) {
	for _, o := range []side{{}, {begunWhole: true}} {
		states, err := o.reach()
		proof.Is(t, err, nil)
		t.Logf("%d states", states)
	}
	for name, o := range map[string]side{
		"the claim comes before the journal's head":                 {claimFirst: true},
		"the mark does not look at the token":                       {blindMark: true},
		"heads are read before there is a token":                    {headsFirst: true},
		"records are not fenced":                                    {noFence: true},
		"the build does not wait for who has looked before":         {noPause: true},
		"who has slept does not look again":                         {noLook: true},
		"the old one does not wait after it has taken an index out": {noWait: true, begunWhole: true},
		"the reader looks once":                                     {readForever: true, begunWhole: true},
	} {
		if n, err := o.reach(); err == nil {
			t.Errorf("nothing notices that %s, in %d states", name, n)
		}
	}
}

// findsOrSays fails if the index reports that no note has value.
func (v *release) findsOrSays(t *testing.T, name, value, id string) {
	t.Helper()
	got, err := v.by[name].Find(t.Context(), value)
	if !errors.Is(err, kvmodel.ErrNeedsRebuild) && (err != nil || got.ID != id) {
		t.Errorf("%s of %q is %v, %v; want %s, or ErrNeedsRebuild", name, value, got, err, id)
	}
}

func TestReleases_WhatAnOldOneHasUnderWayAsItFallsAsleepIsFenced(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := shared{plain(mem)}
		asleep := make(chan struct{})
		var sleeps bool
		var mu sync.Mutex
		old := deploy(t, tamper(s, func(_ context.Context, ops []kv.Op, do func([]kv.Op) error) error {
			mu.Lock()
			for _, op := range ops {
				sleeps = sleeps || op.Kind == kv.CompareAndSwap && op.Key == "r:Note:a"
			}
			waits := sleeps
			mu.Unlock()
			if waits {
				<-asleep
			}
			return do(ops)
		}))
		must(t, old.Create(ctx, &note{ID: "a", Text: "x", Code: "ca"}))
		time.Sleep(time.Minute) // Then no line of it is left, whose repair would fence the record.
		done := make(chan error)
		go func() {
			_, err := old.Update(ctx, "a", func(n *note) error { n.Code = "changed"; return nil })
			done <- err
		}()
		time.Sleep(time.Minute)
		next := deploy(t, s, "Code")
		must(t, next.Rebuild(ctx))
		next.finds(t, "Code", "ca", "a")
		close(asleep)
		must(t, <-done)
		next.findsOrSays(t, "Code", "changed", "a")
		old.undeploy(t)
		next.undeploy(t)
	})
}
