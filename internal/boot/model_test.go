package boot

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The model has two servers, one process that keeps running, one that restarts all the time, and an
// operator's Accept. Every get and every write is a step, any process may stop anywhere, servers
// lose their memory, and one add may be late. The real code makes the decisions of a process.

var modelNames = []string{"a", "b"}

type modelItem struct {
	item    Item
	version uint8
	there   bool
}

func (it modelItem) seen(x int) Seen {
	s := Seen{Name: modelNames[x], Item: it.item}
	if it.there {
		s.Version = kv.Version(it.version)
	}
	return s
}

type modelWrite struct {
	to      uint8
	version kv.Version
	item    Item
}

// modelProcess is a process in a pass, or Accept.
type modelProcess struct {
	pc         uint8
	at         uint8
	last, seen [2]modelItem
	passed     bool
	n          uint8
	todo       [2]modelWrite
	known      Table
	next       Table   // Accept: the proposed table
	lost       [2]bool // Accept: the servers it read as lost
}

const (
	reads uint8 = iota
	writing
	uses
	says
	settles
	settling
)

type modelState struct {
	servers  [2]modelItem
	versions uint8
	numbers  uint64
	process  [2]modelProcess
	accept   modelProcess
	used     bool
	lost     [2]bool // with data in it, and not accepted
	losses   uint8
	hit      [2]bool // it lost its memory at least once
	gone     bool    // nothing is left that could show a loss
	late     modelItem
	lateTo   uint8
	lates    uint8
}

type bootModel struct {
	losses, lates uint8
	accepts       bool
	restarts      bool // a second process, which restarts all the time

	// What the protocol forbids:
	blind bool // a write does not compare the item with the one that was read
	once  bool // one pass counts as two equal ones
}

func seenOf(items [2]modelItem) []Seen { return []Seen{items[0].seen(0), items[1].seen(1)} }

func (s *modelState) number() uint64 {
	s.numbers++
	return s.numbers
}

func (m bootModel) write(s *modelState, w modelWrite) bool {
	it := &s.servers[w.to]
	changed := it.there != (w.version != 0) || it.there && kv.Version(it.version) != w.version
	if changed && !m.blind {
		return false
	}
	s.versions++
	*it = modelItem{w.item, s.versions, true}
	return true
}

func (p *modelProcess) plan(ops []kv.Op) {
	p.n, p.at, p.todo = uint8(len(ops)), 0, [2]modelWrite{}
	for i, op := range ops {
		item, err := decode(op.Value)
		if err != nil {
			panic(err)
		}
		p.todo[i] = modelWrite{uint8(slices.Index(modelNames, op.Key)), op.Version, item}
	}
}

func (p *modelProcess) restart() { *p = modelProcess{known: p.known} }

func (m bootModel) steps(s modelState, step func(modelState, string, ...any)) {
	for i := range s.process {
		if i == 0 || m.restarts {
			m.passes(s, i, step)
		}
	}
	if m.accepts {
		m.acceptSteps(s, step)
	}
	if s.late.there {
		n := s
		n.late = modelItem{}
		done := m.write(&n, modelWrite{s.lateTo, 0, s.late.item})
		step(n, "the late add arrives: %v", done)
	}
	for x := range s.servers {
		if s.losses < m.losses && !s.gone && s.servers[x].there {
			n := s
			n.gone = s.servers[x].item.Level >= complete && (!s.servers[1-x].there || s.servers[1-x].item.Level == added)
			n.servers[x] = modelItem{}
			n.losses++
			n.hit[x] = true
			n.lost[x] = s.used
			step(n, "server %s loses its memory", modelNames[x])
		}
	}
}

func (m bootModel) passes(s modelState, i int, step func(modelState, string, ...any)) {
	p, n := s.process[i], s
	q := &n.process[i]
	switch p.pc {
	case reads:
		q.seen[p.at] = s.servers[p.at]
		if q.at++; p.at == 0 {
			step(n, "process %d reads a", i)
			return
		}
		var last []Seen
		if p.passed {
			last = seenOf(p.last)
		}
		if m.once {
			last = seenOf(q.seen)
		}
		known := p.known
		v, o, ops, _ := step1(last, seenOf(q.seen), known, n.number)
		switch o {
		case again:
			*q = modelProcess{known: known, passed: true, last: q.seen}
		case good:
			*q = modelProcess{pc: uses, known: v.table}
			n.used = true
		case lossy:
			*q = modelProcess{pc: says, known: known}
		case writes:
			*q = modelProcess{pc: writing, known: known}
			q.plan(ops)
		}
		step(n, "process %d reads b: outcome %d", i, o)
	case writing:
		w := p.todo[p.at]
		done := m.write(&n, w)
		if q.at++; !done || q.at == q.n {
			q.restart()
		}
		step(n, "process %d writes %v to %s: %v", i, w.item, modelNames[w.to], done)
		if done && w.version == 0 && s.lates < m.lates {
			l := s
			l.lates, l.late, l.lateTo = 1, modelItem{item: w.item, there: true}, w.to
			l.process[i].restart()
			step(l, "process %d adds to %s, late", i, modelNames[w.to])
		}
	case uses, says:
		q.restart()
		if i == 1 {
			q.known = Table{}
		}
		step(n, "process %d looks again", i)
	}
}

func step1(last, seen []Seen, known Table, number func() uint64) (verdict, outcome, []kv.Op, error) {
	return step(modelNames, last, seen, known, number)
}

func (m bootModel) acceptSteps(s modelState, step func(modelState, string, ...any)) {
	p, n := s.accept, s
	q := &n.accept
	switch p.pc {
	case reads:
		if p == (modelProcess{}) && s.lost == [2]bool{} {
			return
		}
		q.seen[p.at] = s.servers[p.at]
		if q.at++; p.at == 0 {
			step(n, "Accept reads a")
			return
		}
		switch {
		case !p.passed:
			*q = modelProcess{passed: true, last: q.seen}
		case !same(seenOf(p.last), seenOf(q.seen)):
			*q = modelProcess{}
		default:
			n.propose()
		}
		step(n, "Accept reads b")
	case writing:
		w := p.todo[p.at]
		done := m.write(&n, w)
		if q.at++; !done || q.at == q.n {
			*q = modelProcess{pc: settles, next: p.next, lost: p.lost}
		}
		step(n, "Accept writes %v to %s", w.item, modelNames[w.to])
	case settles:
		q.seen[p.at] = s.servers[p.at]
		if q.at++; p.at == 0 {
			step(n, "Accept reads what it has proposed to a")
			return
		}
		if ops := confirmation(seenOf(q.seen), p.next, n.number); len(ops) == 0 {
			*q = modelProcess{}
		} else {
			*q = modelProcess{pc: settling, next: p.next, lost: p.lost}
			q.plan(ops)
		}
		step(n, "Accept reads what it has proposed to b")
	case settling:
		w := p.todo[p.at]
		done := m.write(&n, w)
		if done && p.at == 0 {
			for x, it := range n.servers {
				stands := it.there && (it.item.Next == p.next || it.item.Table == p.next)
				n.lost[x] = n.lost[x] && !(p.lost[x] && stands)
			}
		}
		if q.at++; !done || q.at == q.n {
			*q = modelProcess{}
		}
		step(n, "Accept confirms %v on %s: %v", w.item, modelNames[w.to], done)
	}
}

func (s *modelState) propose() {
	seen := seenOf(s.accept.seen)
	v := judge(modelNames, seen, Table{})
	s.accept = modelProcess{}
	if v.table == (Table{}) || v.lossless() {
		return
	}
	next := newTable(v.table.Edition+1, s.number(), modelNames)
	s.accept = modelProcess{pc: writing, next: next}
	for x, why := range v.lost {
		s.accept.lost[x] = why != ""
	}
	s.accept.plan(v.propose(seen, next))
}

func (m bootModel) wrong(s modelState) string {
	for i, p := range s.process {
		if p.pc == says && s.losses == 0 {
			return fmt.Sprintf("process %d says ErrLost, and nothing was lost", i)
		}
	}
	if s.gone {
		return ""
	}
	v := judge(modelNames, seenOf(s.servers), Table{})
	for x, lost := range s.lost {
		if !s.hit[x] && v.lost[x] != "" {
			return fmt.Sprintf("server %s has lost nothing, and a process that starts now says so", modelNames[x])
		}
		if lost && v.lost[x] == "" {
			return fmt.Sprintf("server %s has lost its memory, and a process that starts now does not notice", modelNames[x])
		}
	}
	return ""
}

func (m bootModel) reach() (int, error) {
	return proof.Reach(proof.Model[modelState]{Steps: m.steps, Wrong: m.wrong, Most: 20_000_000})
}

func TestModels_ALossIsKnownToAllUntilItIsAccepted(t *testing.T) {
	for _, m := range []struct {
		name string
		vast bool
		bootModel
	}{
		{"one process, one loss, Accept", false, bootModel{losses: 1, accepts: true}},
		{"one process, two losses, Accept", false, bootModel{losses: 2, accepts: true}},
		{"one process, one loss, a late add, Accept", false, bootModel{losses: 1, accepts: true, lates: 1}},
		{"two processes, no loss", false, bootModel{restarts: true}},
		{"two processes, no loss, a late add", true, bootModel{restarts: true, lates: 1}},
		{"two processes, one loss", true, bootModel{restarts: true, losses: 1}},
		{"two processes, one loss, a late add", true, bootModel{restarts: true, losses: 1, lates: 1}},
		{"two processes, one loss, Accept", true, bootModel{restarts: true, losses: 1, accepts: true}},
	} {
		if m.vast && !proof.Long() {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			states, err := m.reach()
			proof.Is(t, err, nil)
			t.Logf("%d states", states)
		})
	}
}

func TestModels_WhatTheProtocolForbidsIsNoticed(t *testing.T) {
	for name, m := range map[string]bootModel{
		"a late write does not compare": {restarts: true, lates: 1, blind: true},
		"one pass is enough":            {restarts: true, once: true},
	} {
		if states, err := m.reach(); err == nil {
			t.Errorf("%s: nothing is wrong with any of %d states", name, states)
		}
	}
}
