package keytree

import (
	"fmt"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// A tree with two leaves loses one; writers of one record notice that or not, and a rebuild fills
// the fresh epoch, in all orders of their steps, with every length of sleep before each.
//
// In every state, while no writer is between its commit and its end, each readable epoch must have
// the entry of the record's value, or lack its leaf or the root.
//
// A unit of the clock is 5 seconds: times.Definition is one, graceTime three. The model does not
// rely on times.Change.

// A lapse is a part of the protocol that is left out.
type lapse string

const (
	noSeal       lapse = "the root of the epoch before is not sealed"
	noGrace      lapse = "a rebuild does not wait"
	noScan       lapse = "a rebuild does not look into the epochs before"
	blindTidy    lapse = "a process that has slept does not look whether its entry is there"
	blindMark    lapse = "a rebuild calls its epoch whole though another loss was found"
	oldRecords   lapse = "a rebuild relies on records that were read before the loss"
	oldKnowledge lapse = "a process uses a definition of any age"
)

const modelEpochs = 3

type (
	lossWriter struct {
		at      uint8 // the next step
		changes uint8 // that are left
		epoch   uint8 // as it knows
		known   bool
		read    int8 // when it read that
		rev     uint8
		value   uint8 // to restore
	}

	lossBuilder struct {
		at     uint8
		epoch  uint8 // that it fills
		began  int8
		listed bool // the record was among those it has read
		value  uint8
	}

	lossState struct {
		now      int8
		epoch    uint8
		lost     bool
		switched int8               // when epoch came to be
		sealed   [modelEpochs]bool  // the root is missing
		dropped  [modelEpochs]bool  // leaf 0 is missing
		entries  [modelEpochs]uint8 // a bit for each value
		drops    uint8              // that are left
		finding  bool               // the root was sealed, and the definition comes next
		rev      uint8
		value    uint8 // of the record; 0: there is none
		writers  [2]lossWriter
		build    lossBuilder
	}

	lossModel struct {
		left    lapse
		create  bool
		writers int
		changes uint8
		drops   uint8
		end     int8
	}
)

const (
	lwIdle uint8 = iota
	lwRead
	lwEnter
	lwCommit
	lwBegin // to tidy
	lwTidy
	lwRestore
	lwPut
)

const (
	lbIdle uint8 = iota
	lbList
	lbWait
	lbRead
	lbEnter
	lbScan
	lbScanRead
	lbScanEnter
	lbMark
)

func (m lossModel) first() lossState {
	s := lossState{value: 2, rev: 1, drops: m.drops, switched: -9}
	s.entries[0] = 1 << 2
	if m.create {
		s.value, s.entries[0] = 0, 0
	}
	for i := range m.writers {
		s.writers[i].changes = m.changes
	}
	return s
}

// lossValue is the value of a change. Those of one writer are in turn in leaf 1 and in leaf 0.
func lossValue(i int, left uint8) uint8 { return 5 - left + 3*uint8(i) }

func (s *lossState) isThere(epoch, value uint8) bool { return !s.dropped[epoch] || value%2 == 1 }

func (m lossModel) wrong(s lossState) string {
	for i := range m.writers {
		if s.writers[i].at > lwCommit {
			return ""
		}
	}
	for epoch := range s.epoch + 1 {
		isRead := epoch == s.epoch && !s.lost || epoch+1 == s.epoch && s.now-s.switched <= 1
		if isRead && s.value != 0 && !s.sealed[epoch] && s.isThere(epoch, s.value) && s.entries[epoch]&(1<<s.value) == 0 {
			return fmt.Sprintf("a query may read epoch %d, which has no entry of %d, the record's value", epoch, s.value)
		}
	}
	return ""
}

func (m lossModel) next(s lossState, to func(lossState, string)) {
	if s.now < m.end {
		n := s
		n.now++
		to(n, "time goes on")
	}
	if s.drops > 0 && !s.dropped[s.epoch] {
		n := s
		n.drops, n.dropped[s.epoch] = n.drops-1, true
		for v := uint8(2); v < 8; v += 2 {
			n.entries[s.epoch] &^= 1 << v
		}
		to(n, fmt.Sprintf("the store drops a leaf of epoch %d", s.epoch))
	}
	m.find(s, to)
	for i := range m.writers {
		m.write(s, i, to)
	}
	m.rebuild(s, to)
}

// find is a step of whoever misses the leaf.
func (m lossModel) find(s lossState, to func(lossState, string)) {
	n := s
	switch {
	case s.finding:
		n.finding, n.epoch, n.lost, n.switched = false, s.epoch+1, true, s.now
		to(n, fmt.Sprintf("the tree goes on in epoch %d", n.epoch))
	case s.dropped[s.epoch] && s.epoch+1 < modelEpochs:
		n.finding = true
		n.sealed[s.epoch] = s.sealed[s.epoch] || m.left != noSeal
		to(n, fmt.Sprintf("the root of epoch %d is sealed", s.epoch))
	}
}

func (m lossModel) begin(s lossState, w *lossWriter) {
	if !w.known || s.now-w.read > 1 && m.left != oldKnowledge {
		w.known, w.epoch, w.read = true, s.epoch, s.now
	}
}

func (m lossModel) write(s lossState, i int, to func(lossState, string)) {
	n := s
	w := &n.writers[i]
	value := lossValue(i, w.changes)
	say := func(format string, args ...any) { to(n, fmt.Sprintf("writer %d ", i)+fmt.Sprintf(format, args...)) }
	forgets := func(at uint8) {
		w.known, w.at = false, at
		say("does not find its leaf in epoch %d", w.epoch)
	}
	switch w.at {
	case lwIdle:
		if w.changes == 0 {
			return
		}
		m.begin(s, w)
		w.at = lwRead
		say("begins with epoch %d", w.epoch)
	case lwRead:
		w.rev, w.at = s.rev, lwEnter
		say("reads the record")
	case lwEnter:
		if !s.isThere(w.epoch, value) {
			forgets(lwIdle)
			return
		}
		n.entries[w.epoch] |= 1 << value
		w.at = lwCommit
		say("enters %d in epoch %d", value, w.epoch)
	case lwCommit:
		if s.rev != w.rev {
			w.at = lwIdle
			say("has lost")
			return
		}
		n.rev, n.value, w.at = s.rev+1, value, lwBegin
		say("commits %d", value)
	case lwBegin:
		m.begin(s, w)
		w.at = lwTidy
		say("begins to tidy epoch %d", w.epoch)
	case lwTidy:
		if !s.isThere(w.epoch, value) {
			forgets(lwBegin)
			return
		}
		switch {
		case s.entries[w.epoch]&(1<<value) == 0 && m.left != blindTidy:
			w.at = lwRestore
		default:
			w.changes, w.at = w.changes-1, lwIdle
		}
		say("tidies epoch %d", w.epoch)
	case lwRestore:
		w.value, w.at = s.value, lwPut
		say("misses its entry, and reads the record")
	case lwPut:
		if !s.isThere(w.epoch, w.value) {
			forgets(lwBegin)
			return
		}
		n.entries[w.epoch] |= 1 << w.value
		w.changes, w.at, w.value = w.changes-1, lwIdle, 0
		say("puts its entry in epoch %d", w.epoch)
	}
}

func (m lossModel) rebuild(s lossState, to func(lossState, string)) {
	n := s
	b := &n.build
	say := func(format string, args ...any) { to(n, "the rebuild "+fmt.Sprintf(format, args...)) }
	enter := func(then uint8) {
		if b.at = then; s.dropped[b.epoch] {
			n.build = lossBuilder{}
			say("finds that epoch %d has lost a leaf", s.build.epoch)
			return
		}
		if b.value != 0 {
			n.entries[b.epoch] |= 1 << b.value
		}
		say("enters %d in epoch %d", s.build.value, b.epoch)
	}
	switch b.at {
	case lbIdle:
		if !s.lost && m.left != oldRecords {
			return
		}
		b.epoch, b.began, b.at = s.epoch, s.now, lbList
		say("begins")
	case lbList:
		b.listed, b.at = s.value != 0, lbWait
		say("lists the records")
	case lbWait:
		if s.now-b.began < 3 && m.left != noGrace {
			return
		}
		if m.left == oldRecords && s.lost {
			b.epoch = s.epoch
		}
		if b.at = lbRead; !b.listed {
			b.at = lbScan
		}
		say("has waited")
	case lbRead:
		b.value, b.at = s.value, lbEnter
		say("reads the record")
	case lbEnter:
		enter(lbScan)
	case lbScan:
		b.at, b.value = lbMark, 0
		for e := range b.epoch {
			if s.entries[e] != 0 && !b.listed && m.left != noScan {
				b.at = lbScanRead
			}
			n.entries[e], n.sealed[e] = 0, true
		}
		say("looks into the epochs before")
	case lbScanRead:
		b.value, b.at = s.value, lbScanEnter
		say("reads the record that it met there")
	case lbScanEnter:
		enter(lbMark)
	case lbMark:
		if s.epoch == b.epoch || m.left == blindMark {
			n.lost = false
		}
		n.build = lossBuilder{}
		say("calls epoch %d whole", b.epoch)
	}
}

func (m lossModel) explore() (int, error) {
	steps := func(s lossState, step func(lossState, string, ...any)) {
		m.next(s, func(n lossState, what string) { step(n, "%s", what) })
	}
	return proof.Reach(proof.Model[lossState]{Begin: m.first(), Steps: steps, Wrong: m.wrong, Most: 30_000_000})
}

// Each lapse shows in one of those that are not vast.
var lossModels = []struct {
	name string
	vast bool
	lossModel
}{
	{"an update", false, lossModel{writers: 1, changes: 2, drops: 1, end: 6}},
	{"a new record", false, lossModel{writers: 1, changes: 2, drops: 1, end: 6, create: true}},
	{"two losses", false, lossModel{writers: 1, changes: 1, drops: 2, end: 5, create: true}},
	{"two writers", true, lossModel{writers: 2, changes: 1, drops: 1, end: 5}},
}

func TestModels_ALostNodeHidesNothingThatASleepingWriterAcknowledges(t *testing.T) {
	for _, m := range lossModels {
		if m.vast && !proof.Long() {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			states, err := m.explore()
			proof.Is(t, err, nil)
			t.Logf("%d states", states)
		})
	}
}

func TestModels_ALostNode_EachLapseIsFound(t *testing.T) {
	for _, left := range []lapse{noSeal, noGrace, noScan, blindTidy, blindMark, oldRecords, oldKnowledge} {
		found := ""
		for _, m := range lossModels {
			if m.vast {
				continue
			}
			m.left = left
			if _, err := m.explore(); err != nil {
				found = m.name + ": " + err.Error()
				break
			}
		}
		if found == "" {
			t.Errorf("it is not found that %s", left)
		}
		t.Logf("%s: %s", left, found)
	}
}
