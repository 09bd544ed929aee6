package kvmodel_test

import (
	"fmt"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

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
	if err != nil {
		t.Error(err)
	}
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
