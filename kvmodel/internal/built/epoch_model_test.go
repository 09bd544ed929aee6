package built

import (
	"fmt"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
)

// The model of an epoch. An index has lost a key and is rebuilt under key names with a fresh epoch,
// while writers change one record. The test visits every state, with every order of steps and every
// length of sleep before each of them. A step is one operation of the store. A process decides
// before the step, by its knowledge then.
//
// In every state, the epoch that the built item names as complete must have the entry of the
// record's value, unless the store has dropped it.
//
// A unit of the clock is 10 seconds, and steps take no time by themselves. A change begins less
// than a unit after a look at the built item, and commits within one unit after that
// (times.Change). So its writes are out before two units have passed, unless the process sleeps
// (goodFor). A process whose journal has not ticked for three units counts as dead (times.Dead).
// One that ticks without a gap of more than two (times.Gap) does not look before each change: it
// finds a fresh epoch by a look in the background.

// A mistake is an omitted part of the protocol.
type mistake string

const (
	blindJournal mistake = "a process looks at the built item before its journal names the epoch, and not after that"
	blindBuild   mistake = "a build neither waits for writers nor fences what they have prepared"
	hastyBuild   mistake = "a build takes a process for dead at once"
	noWait       mistake = "a build does not wait for what the dead may have sent before they could see it"
	blindChange  mistake = "a process that has slept does not look at the built item before its next change"
	lineBeside   mistake = "the line of a new record goes out with its commit, and not before"
	blindMark    mistake = "a build calls the index whole whatever the built item says by then"
	noFence      mistake = "a build enters records without fencing them"
)

// The value of a record that does not exist, besides the values of writers.
const absent = 0

// The states of an index in the built item.
const (
	isWhole = iota
	isLeaving
	isBuilding
)

type (
	// eWriter is a process that writes. Its journal names an epoch.
	eWriter struct {
		at      uint8 // the next step
		changes uint8 // changes left
		journal uint8 // one more than the epoch in its journal, or 0 without a journal
		epoch   uint8 // the epoch of its plan
		looked  int8
		claimed bool // it has looked since it has that journal
		began   int8
		ticked  int8  // the last tick of its journal
		since   int8  // the first of the ticks without a gap
		rev     uint8 // of the record as it was read
		had     uint8 // its value then
		lined   bool  // a line names the record
	}

	// eBuilder is a process that builds.
	eBuilder struct {
		at      uint8
		from    uint8 // the previous epoch
		fresh   uint8
		named   int8
		fencing bool
		rev     uint8
		value   uint8
	}

	// eState is a state of the world.
	eState struct {
		now     int8
		epoch   uint8 // the epoch in the built item
		is      uint8
		rev     uint8 // of the record
		value   uint8
		entries [3]uint8 // by epoch, a bit for each value
		dropped [3]bool  // by epoch: the store has dropped an entry
		drops   uint8    // drops left
		writers [2]eWriter
		build   eBuilder
		builds  uint8 // builds left
	}

	// eModel is a world and its mistake.
	eModel struct {
		left    mistake
		create  bool // the record is new
		lacks   int  // the number of writers of a release without the index
		writers int
		changes uint8
		builds  uint8
		end     int8 // of the clock
	}
)

// The steps of a writer.
const (
	wIdle uint8 = iota
	wJournal
	wLook
	wRead
	wEnter
	wLine
	wCommit
	wLeave
)

// The steps of a builder.
const (
	bIdle uint8 = iota
	bHeads
	bLines
	bRead
	bEnter
	bFence
	bMark
	bRemove
)

func (m eModel) first() eState {
	s := eState{value: 1, rev: 1, drops: 1, builds: m.builds}
	s.entries[0] = 1 << 1
	if m.create {
		s.value, s.entries[0] = absent, 0
	}
	for i := range m.writers {
		s.writers[i].changes = m.changes
	}
	return s
}

// wrong returns a violation of the invariant, or "".
func (m eModel) wrong(s eState) string {
	if s.is == isWhole && s.value != absent && !s.dropped[s.epoch] && s.entries[s.epoch]&(1<<s.value) == 0 {
		return fmt.Sprintf("epoch %d is whole and has no entry of %d, the record's value", s.epoch, s.value)
	}
	return ""
}

// next returns the states that can follow s, each with its step.
func (m eModel) next(s eState, to func(eState, string)) {
	if s.now < m.end {
		n := s
		n.now++
		to(n, "time goes on")
	}
	if s.drops > 0 && s.is == isWhole && s.entries[s.epoch] != 0 {
		n := s
		n.drops, n.entries[s.epoch], n.dropped[s.epoch] = n.drops-1, 0, true
		to(n, "the store drops the entries")
	}
	if s.is == isWhole && s.dropped[s.epoch] {
		n := s
		n.is = isLeaving
		to(n, "a reader misses an entry, and distrusts the index")
	}
	for i := range m.writers {
		m.write(s, i, to)
	}
	m.builder(s, to)
}

// value of the nth change that is left to writer i.
func valueOf(i int, left uint8) uint8 { return 2 + uint8(i)*2 + (left - 1) }

// write is the next step of writer i.
func (m eModel) write(s eState, i int, to func(eState, string)) {
	n := s
	w := &n.writers[i]
	lacks := i < m.lacks
	say := func(format string, args ...any) { to(n, fmt.Sprintf("writer %d ", i)+fmt.Sprintf(format, args...)) }
	if w.at == wJournal || w.at == wLine || w.at == wCommit {
		if s.now-w.ticked > 2 {
			w.since = s.now
		}
		w.ticked = s.now
	}
	switch w.at {
	case wIdle:
		if w.changes == 0 {
			return
		}
		if w.claimed && w.journal != s.epoch+1 {
			found := s
			found.writers[i].claimed = false
			to(found, fmt.Sprintf("writer %d finds another epoch in the background", i))
		}
		w.began = s.now
		switch {
		case w.journal == 0:
			w.at = wJournal
		case !w.claimed, !w.isCurrent(s.now) && m.left != blindChange:
			w.at = wLook
		default:
			w.at = wRead
		}
		say("begins")
	case wJournal:
		if w.journal == 0 {
			w.epoch = s.epoch // It has read the item, in the trip before.
		}
		w.journal, w.at, w.claimed, w.began = w.epoch+1, wLook, false, s.now
		if m.left == blindJournal {
			w.at, w.claimed, w.looked = wRead, true, s.now
		}
		say("opens a journal for epoch %d", w.epoch)
	case wLook:
		switch {
		case lacks:
			n.is, w.claimed, w.looked, w.began, w.at = isLeaving, true, w.began, s.now, wRead
		case s.epoch+1 == w.journal:
			w.claimed, w.looked, w.began, w.at = true, w.began, s.now, wRead
		default:
			w.epoch, w.at = s.epoch, wJournal
		}
		say("looks at the built item")
	case wRead:
		w.rev, w.had, w.at = s.rev, s.value, wEnter
		say("reads the record")
	case wEnter:
		w.at = wLine
		if m.left == lineBeside {
			w.at = m.commits(s, w)
		}
		if !lacks {
			n.entries[w.epoch] |= 1 << valueOf(i, w.changes)
		}
		say("enters its value in epoch %d", w.epoch)
	case wLine:
		w.lined, w.at = true, m.commits(s, w)
		say("writes a line")
	case wCommit:
		w.lined = true
		if s.rev != w.rev {
			w.at = wIdle
			say("has lost")
			return
		}
		n.rev, n.value = s.rev+1, valueOf(i, w.changes)
		w.at = wLeave
		say("commits")
	case wLeave:
		if !lacks && w.had != valueOf(i, w.changes) && w.had != s.value {
			n.entries[w.epoch] &^= 1 << w.had
		}
		w.changes, w.at, w.lined = w.changes-1, wIdle, false
		say("takes out the value before")
	}
}

// isCurrent reports whether a change that begins now needs no look at the built item. A build that
// finds the process to live waits for it.
func (w *eWriter) isCurrent(now int8) bool {
	return now-w.looked < 1 || now-w.ticked < 1 && w.looked >= w.since
}

// commits returns the next step of w, which has prepared a change: it starts over if that has taken
// too long.
func (m eModel) commits(s eState, w *eWriter) uint8 {
	if s.now-w.began > 1 {
		return wIdle
	}
	return wCommit
}

// isAhead reports whether a build waits for writer w, which keeps another epoch and may live.
func (m eModel) isAhead(s eState, i int) (living, dead bool) {
	w := s.writers[i]
	if w.journal == 0 || w.journal == s.build.fresh+1 && i >= m.lacks {
		return false, false
	}
	dead = s.now-w.ticked >= 3 || m.left == hastyBuild
	return !dead, dead
}

// builder is the next step of the builder.
func (m eModel) builder(s eState, to func(eState, string)) {
	n := s
	b := &n.build
	say := func(format string, args ...any) { to(n, "the build "+fmt.Sprintf(format, args...)) }
	switch b.at {
	case bIdle:
		if s.is != isLeaving || s.builds == 0 {
			return
		}
		n.builds--
		b.from, b.fresh, b.named, b.at = s.epoch, s.epoch+1, s.now, bHeads
		n.epoch, n.is = b.fresh, isBuilding
		say("names epoch %d", b.fresh)
	case bHeads:
		b.fencing = false
		for i := range m.writers {
			living, dead := m.isAhead(s, i)
			if living && m.left != blindBuild {
				return // It waits.
			}
			b.fencing = b.fencing || dead
		}
		if b.fencing && s.now-b.named < 2 && m.left != noWait && m.left != blindBuild {
			return
		}
		b.at = bLines
		say("finds all journals in order, or their processes dead: %v", b.fencing)
	case bLines:
		b.at = bRead
		for i := range m.writers {
			if b.fencing && s.writers[i].lined && s.value == absent && m.left != noFence && m.left != blindBuild {
				n.rev++ // A tombstone.
			}
		}
		say("repairs the lines")
	case bRead:
		b.rev, b.value, b.at = s.rev, s.value, bEnter
		say("reads the record")
	case bEnter:
		b.at = bMark
		if b.value != absent {
			n.entries[b.fresh] |= 1 << b.value
			if b.fencing && m.left != noFence && m.left != blindBuild {
				b.at = bFence
			}
		}
		say("enters the value")
	case bFence:
		if s.rev != b.rev {
			b.at = bRead
			say("finds that the record has changed")
			return
		}
		n.rev++
		b.at = bMark
		say("fences the record")
	case bMark:
		if (s.is != isBuilding || s.epoch != b.fresh) && m.left != blindMark {
			b.at = bIdle
			say("has come to nothing")
			return
		}
		n.epoch, n.is, b.at = b.fresh, isWhole, bRemove
		say("calls epoch %d whole", b.fresh)
	case bRemove:
		n.entries[b.from] = 0
		n.build = eBuilder{}
		say("removes epoch %d", b.from)
	}
}

func (m eModel) explore() (int, error) {
	steps := func(s eState, step func(eState, string, ...any)) {
		m.next(s, func(n eState, what string) { step(n, "%s", what) })
	}
	return proof.Reach(proof.Model[eState]{Begin: m.first(), Steps: steps, Wrong: m.wrong, Most: 30_000_000})
}

// epochModels are the worlds. Each mistake shows in a world that is not vast.
var epochModels = []struct {
	name string
	vast bool
	eModel
}{
	{"an update", false, eModel{writers: 1, changes: 2, builds: 2, end: 5}},
	{"a new record", false, eModel{writers: 1, changes: 2, builds: 2, end: 5, create: true}},
	{"a release without the index", false, eModel{writers: 1, changes: 2, builds: 2, end: 4, lacks: 1}},
	{"two writers", true, eModel{writers: 2, changes: 1, builds: 1, end: 3}},
	{"two writers, one of a release without the index", true, eModel{writers: 2, changes: 1, builds: 1, end: 3, lacks: 1}},
}

func TestModels_AnEpochHasWhatASleepingWriterAcknowledges(t *testing.T) {
	for _, m := range epochModels {
		if m.vast && !proof.Long() {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			begun := time.Now()
			states, err := m.explore()
			proof.Is(t, err, nil)
			t.Logf("%d states, %v", states, time.Since(begun).Round(time.Millisecond))
		})
	}
}

func TestModels_AnEpoch_EachMistakeIsFound(t *testing.T) {
	for _, left := range []mistake{blindJournal, blindBuild, hastyBuild, noWait, blindChange, lineBeside, blindMark, noFence} {
		found := ""
		for _, m := range epochModels {
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
