package keytree

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
)

// The model is the entries of one member of a board by a field. Scores 1 and 2 belong in leaf 0,
// score 3 in leaf 1. Processes change the record in tries that may decide anything; one may die; one
// write of a leaf may arrive late; a repairer follows the line of the dead. It checks that
//
//  1. a record that is in has an entry with its score in its leaf, at every moment;
//  2. a change that has committed and is not tidied has a line that names its places;
//  3. while no committed change waits to be tidied or repaired, every leaf counts exactly the
//     members whose records say so, at their scores.

// score*32 + rev*2 + whether it counts; 0: none
type claim uint8

func claimOf(score, rev uint8, counts bool) claim {
	c := claim(score*32 + rev*2)
	if counts {
		c |= 1
	}
	return c
}

func (c claim) score() uint8 { return uint8(c) / 32 }
func (c claim) rev() uint8   { return uint8(c) / 2 % 16 }
func (c claim) counts() bool { return c&1 == 1 }

type modelLeaf struct {
	version uint8
	claims  [5]claim // sorted, the empty ones last
}

func (l modelLeaf) with(list []claim) modelLeaf {
	list = slices.DeleteFunc(list, func(c claim) bool { return c == 0 })
	slices.Sort(list)
	next := modelLeaf{version: l.version + 1}
	if copy(next.claims[:], list) < len(list) {
		panic("the leaf is full")
	}
	return next
}

func (l modelLeaf) has(score uint8) bool {
	return slices.ContainsFunc(l.claims[:], func(c claim) bool { return c != 0 && c.score() == score })
}

func modelLeafOf(score uint8) uint8 { return (score - 1) / 2 }

func placeBit(score uint8) uint8 {
	if score == 0 {
		return 0
	}
	return 1 << score
}

func leavesOf(places uint8) (leaves uint8) {
	for score := uint8(1); score <= 3; score++ {
		if places&placeBit(score) != 0 {
			leaves |= 1 << modelLeafOf(score)
		}
	}
	return leaves
}

type leafWrite struct {
	leaf, version uint8
	kind          leafEdit
	score, rev    uint8 // added, or known of the record
}

type leafEdit uint8

const (
	putPending leafEdit = iota + 1
	putCounted
	tidies
	takesOut // its own entry, unasked
)

type actor struct {
	step, tries      uint8
	base, was, to    uint8 // rev and score as read; the score to be
	rev, score       uint8 // what it knows of the record, to tidy with
	touched, todo    uint8
	at, version      uint8 // the leaf under work, its version as read
	line, in         bool  // of this try: the line is there; the entry is there
	named, namedRev  uint8 // the places and the rev that its lines name
	committed, ended bool
	dead, repaired   bool
}

const (
	reads uint8 = iota
	prepares
	inserts
	goesOn // with the next leaf to tidy
	writesLeaf
	asks // for the record, after a lost race
	fences
)

type modelState struct {
	rev, score uint8
	leaves     [2]modelLeaf
	actors     [2]actor
	repairer   actor
	late       leafWrite
	wasLate    bool
}

type protocol struct {
	tries       uint8
	another     bool
	late, dying bool

	countsAtOnce, lineFirst bool
	skipsSameLeaf           bool
	repairCounts            bool
	anyRev                  bool
	lineLate                bool
	ownOut                  bool
	takesOver               bool
	leavesEntry             bool
	neverConfirms           bool
}

func (o *protocol) write(s *modelState, w leafWrite) bool {
	l := &s.leaves[w.leaf]
	if l.version != w.version {
		return false
	}
	var list []claim
	switch w.kind {
	case putPending, putCounted:
		list = o.put(l, w)
	case tidies:
		list = o.tidied(l, w)
	case takesOut:
		for _, c := range l.claims {
			if c.score() != w.score || c.rev() != w.rev {
				list = append(list, c)
			}
		}
	}
	*l = l.with(list)
	return true
}

func (o *protocol) put(l *modelLeaf, w leafWrite) (list []claim) {
	there := false
	for _, c := range l.claims {
		if c != 0 && c.score() == w.score && (c.rev() == w.rev || o.takesOver) {
			there = true
			c = claimOf(w.score, max(c.rev(), w.rev), c.counts())
		}
		list = append(list, c)
	}
	if !there {
		list = append(list, claimOf(w.score, w.rev, o.countsAtOnce || w.kind == putCounted))
	}
	return list
}

func (o *protocol) tidied(l *modelLeaf, w leafWrite) (list []claim) {
	var kept claim
	others := 0
	for _, c := range l.claims {
		switch {
		case c == 0:
			continue
		case c.rev() > w.rev && !o.anyRev:
			list = append(list, c)
			continue
		case c.score() == w.score && (kept == 0 || c.rev() > kept.rev()):
			kept = c
		}
		others++
	}
	if kept != 0 && !o.neverConfirms && (others > 1 || !kept.counts()) {
		kept = claimOf(kept.score(), w.rev, true)
	}
	return append(list, kept)
}

type stepping struct {
	*protocol
	modelState
	emit func(to modelState, format string, args ...any)
}

func (o *protocol) steps(s modelState, emit func(to modelState, format string, args ...any)) {
	st := stepping{o, s, emit}
	if s.late.kind != 0 {
		next := s
		next.late = leafWrite{}
		done := o.write(&next, s.late)
		st.add(next, "the late write of leaf %d arrives: %v", s.late.leaf, done)
	}
	for i := range s.actors {
		st.process(i)
	}
	for i, p := range s.actors {
		if p.dead && !p.repaired && p.named != 0 {
			st.repair(i)
		}
	}
}

func (st *stepping) add(next modelState, format string, args ...any) {
	for i, p := range next.actors { // All ended ones are alike.
		if p.ended {
			next.actors[i] = actor{ended: true}
		}
		if p.dead && p.repaired {
			next.actors[i], next.repairer = actor{dead: true, repaired: true}, actor{}
		}
	}
	st.emit(next, format, args...)
}

func (st *stepping) send(w leafWrite, then func(next *modelState, done bool), format string, args ...any) {
	next := st.modelState
	done := st.write(&next, w)
	then(&next, done)
	st.add(next, format+": %v", append(args, done)...)
	if st.protocol.late && !st.wasLate {
		next = st.modelState
		next.modelLate(w)
		then(&next, false)
		st.add(next, format+": not answered", args...)
	}
}

func (s *modelState) modelLate(w leafWrite) { s.late, s.wasLate = w, true }

func (st *stepping) process(i int) {
	p := st.actors[i]
	if p.ended || p.dead {
		return
	}
	if st.dying && !st.actors[1-i].dead {
		next := st.modelState
		next.actors[i].dead = true
		st.add(next, "process %d dies", i)
	}
	switch p.step {
	case reads:
		st.decide(i)
	case prepares:
		st.prepare(i)
	case inserts:
		st.send(leafWrite{modelLeafOf(p.to), p.version, putPending, p.to, p.base + 1}, func(next *modelState, done bool) {
			next.actors[i].step, next.actors[i].in = prepares, done
		}, "process %d puts in score %d at rev %d", i, p.to, p.base+1)
	case asks, fences:
		next := st.modelState
		q := &next.actors[i]
		if p.step == fences && st.rev <= p.base {
			next.rev = p.base + 1
		}
		q.rev, q.score, q.step, q.todo = next.rev, next.score, goesOn, leavesOf(q.touched)
		q.ended = q.todo == 0
		st.add(next, "process %d sees rev %d with score %d, for good", i, next.rev, next.score)
	case goesOn:
		st.nextLeaf(p, func(next *modelState) *actor { return &next.actors[i] })
	case writesLeaf:
		st.tidy(i)
	}
}

// decide is A0: a try may want any score, only another field (4), or nothing (5).
func (st *stepping) decide(i int) {
	for to := uint8(0); to <= 5; to++ {
		if to == st.score {
			continue
		}
		next := st.modelState
		p := &next.actors[i]
		p.base, p.was, p.to, p.line, p.in = st.rev, st.score, to, false, false
		switch {
		case to == 5 && (p.touched == 0 || st.leavesEntry):
			p.ended = true
		case to == 5:
			p.step = asks
		default:
			if to == 4 {
				p.to = st.score
			}
			if p.to != p.was {
				p.touched |= placeBit(p.to) | placeBit(p.was)
			}
			p.step = prepares
		}
		st.add(next, "process %d reads rev %d with score %d and wants %d", i, st.rev, st.score, to)
	}
}

// prepare is A1, and A2 once the line and the entry are there.
func (st *stepping) prepare(i int) {
	p := st.actors[i]
	enters := p.to != p.was && p.to != 0
	if p.touched != 0 && !p.line {
		next := st.modelState
		q := &next.actors[i]
		q.line, q.named, q.namedRev = true, q.named|q.touched, q.base+1
		st.add(next, "the line of process %d is there", i)
	}
	if enters && !p.in && (p.line || !st.lineFirst) {
		next := st.modelState
		q := &next.actors[i]
		q.step, q.version = inserts, st.leaves[modelLeafOf(p.to)].version
		st.add(next, "process %d reads leaf %d", i, modelLeafOf(p.to))
	}
	if (p.line || p.touched == 0 || st.lineLate) && (p.in || !enters) {
		st.commit(i)
	}
}

// commit is A2, which may be lost, or carried out without an answer.
func (st *stepping) commit(i int) {
	p := st.actors[i]
	next := st.modelState
	q := &next.actors[i]
	if st.rev == p.base {
		next.rev, next.score = p.base+1, p.to
		q.rev, q.score, q.committed = next.rev, next.score, true
		q.todo = leavesOf(q.touched)
		if st.skipsSameLeaf && q.to != 0 {
			q.todo &^= 1 << modelLeafOf(q.to)
		}
		q.step = goesOn
		q.ended = q.todo == 0
		st.add(next, "process %d commits rev %d with score %d", i, next.rev, next.score)
		next = st.modelState
		next.rev, next.score = p.base+1, p.to
		next.actors[i].committed, next.actors[i].step = p.touched != 0, fences
		st.add(next, "process %d commits rev %d with score %d and does not know", i, next.rev, next.score)
	} else {
		q.tries++
		q.step = reads
		if q.tries == st.tries {
			q.step = asks
			q.ended = q.touched == 0 || st.leavesEntry
		}
		st.add(next, "process %d has lost", i)
	}
	next = st.modelState
	next.actors[i].step = fences
	st.add(next, "process %d gives up", i)
}

func (st *stepping) nextLeaf(p actor, of func(*modelState) *actor) {
	for leaf := range uint8(2) {
		if p.todo&(1<<leaf) != 0 {
			next := st.modelState
			q := of(&next)
			q.at, q.version, q.step = leaf, st.leaves[leaf].version, writesLeaf
			st.add(next, "leaf %d is read to be tidied", leaf)
		}
	}
}

// tidy is A4 for one leaf.
func (st *stepping) tidy(i int) {
	p := st.actors[i]
	w := leafWrite{p.at, p.version, tidies, p.score, p.rev}
	if st.ownOut && !p.committed && p.to != 0 && modelLeafOf(p.to) == p.at {
		w = leafWrite{p.at, p.version, takesOut, p.to, p.base + 1}
	}
	st.send(w, func(next *modelState, done bool) {
		q := &next.actors[i]
		q.step = goesOn
		if done {
			q.todo &^= 1 << p.at
		}
		q.ended = q.todo == 0
	}, "process %d tidies leaf %d", i, p.at)
}

func (st *stepping) repair(i int) {
	p, r := st.actors[i], st.repairer
	switch r.step {
	case reads:
		next := st.modelState
		q := &next.repairer
		next.rev = max(next.rev, p.namedRev)
		q.rev, q.score, q.step = next.rev, next.score, goesOn
		if r.to == 0 { // the first time
			q.todo, q.to = leavesOf(p.named), 1
		}
		st.add(next, "repair sees rev %d with score %d, for good", next.rev, next.score)
	case goesOn:
		st.nextLeaf(r, func(next *modelState) *actor {
			q := &next.repairer
			return q
		})
	case writesLeaf:
		missing := r.score != 0 && modelLeafOf(r.score) == r.at && r.version == st.leaves[r.at].version && !st.leaves[r.at].has(r.score)
		if missing && r.tries < 2 {
			st.repairPuts(i)
			return
		}
		st.send(leafWrite{r.at, r.version, tidies, r.score, r.rev}, func(next *modelState, done bool) {
			next.repaired(i, done)
		}, "repair tidies leaf %d", r.at)
	}
}

func (st *stepping) repairPuts(i int) {
	r := st.repairer
	kind := putPending
	if st.repairCounts {
		kind = putCounted
	}
	st.send(leafWrite{r.at, r.version, kind, r.score, r.rev}, func(next *modelState, done bool) {
		next.repairer.tries++
		next.repairer.step = reads
		if st.repairCounts && done {
			next.repaired(i, true)
		}
	}, "repair puts in score %d at rev %d", r.score, r.rev)
}

func (s *modelState) repaired(i int, done bool) {
	r := &s.repairer
	r.step = goesOn
	if done {
		r.todo &^= 1 << r.at
	}
	s.actors[i].repaired = r.todo == 0
}

func (o *protocol) wrong(s modelState) string {
	if s.score != 0 && !s.leaves[modelLeafOf(s.score)].has(s.score) {
		return "1: the member has no entry where it is"
	}
	owed, busy := false, s.late.kind != 0
	for _, p := range s.actors {
		open := !p.ended && !(p.dead && p.repaired)
		owed = owed || open && p.committed
		busy = busy || open && !(p.dead && p.named == 0)
		if p.dead && p.committed && !p.ended && p.named == 0 && !p.repaired {
			return "2: a change has committed and no line names it"
		}
	}
	if o.countsAtOnce && busy || owed {
		return ""
	}
	for i, l := range s.leaves {
		var counted claim
		for _, c := range l.claims {
			if c != 0 && c.counts() && (counted == 0 || c.rev() >= counted.rev()) {
				counted = c
			}
		}
		switch should := s.score != 0 && modelLeafOf(s.score) == uint8(i); {
		case should != (counted != 0):
			return "3: a leaf counts the member and should not, or the other way round"
		case should && counted.score() != s.score:
			return "3: the member counts at another score"
		}
	}
	return ""
}

func (o protocol) reach() (int, error) {
	begin := modelState{rev: 1, score: 1}
	begin.leaves[0] = modelLeaf{}.with([]claim{claimOf(1, 1, true)})
	if !o.another {
		begin.actors[1].ended = true
	}
	return proof.Reach(proof.Model[modelState]{Begin: begin, Steps: o.steps, Wrong: o.wrong, Most: 30_000_000})
}

// Each mistake in the protocol must be found.
func TestModels_WhatHasNotCommittedDoesNotCount(t *testing.T) {
	all := os.Getenv("RINGTREE_MODELS") == "all"
	small := []protocol{{tries: 2, another: true}, {tries: 1, another: true, dying: true}, {tries: 1, another: true, late: true}}
	large := protocol{tries: 2, another: true, late: true, dying: true}
	worlds := small
	if all {
		worlds = []protocol{large}
	}
	for _, world := range worlds {
		begun := time.Now()
		n, err := world.reach()
		if err != nil {
			t.Errorf("%+v: %v", world, err)
		}
		t.Logf("%d states, %v", n, time.Since(begun).Round(time.Millisecond))
	}
	for name, mistake := range map[string]func(*protocol){
		"it counts at once, the line is beside":             func(o *protocol) { o.countsAtOnce = true },
		"what is in the leaf of the new entry is left":      func(o *protocol) { o.countsAtOnce, o.lineFirst, o.skipsSameLeaf = true, true, true },
		"repair puts in what counts":                        func(o *protocol) { o.repairCounts = true },
		"to tidy is not to compare versions":                func(o *protocol) { o.anyRev = true },
		"the commit does not wait for the line":             func(o *protocol) { o.lineLate = true },
		"a loser takes out its own entry":                   func(o *protocol) { o.ownOut = true },
		"an entry with the same score is taken over":        func(o *protocol) { o.takesOver = true },
		"it counts at once, and a loser that stops is gone": func(o *protocol) { o.countsAtOnce, o.lineFirst, o.leavesEntry = true, true, true },
		"nothing is ever confirmed":                         func(o *protocol) { o.neverConfirms = true },
	} {
		t.Run(name, func(t *testing.T) {
			o := large
			mistake(&o)
			if n, err := o.reach(); err == nil {
				t.Errorf("nothing notices it in %d states", n)
			}
		})
	}
}
