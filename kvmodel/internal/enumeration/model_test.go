package enumeration

import (
	"fmt"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
)

// The model of the enumeration: two writers archive one id each, a compactor moves what
// chunk 1 holds and takes it away, a reader walks, requests may be late, and one key may
// be lost at any moment. Ids are bits: 1 and 2 are those of the writers, and 4 stood in
// chunk 1 before.

// chunkState is a chunk of the model.
type chunkState struct {
	there           bool
	own, prev, ids  uint8
	version         uint8
	followedForLong bool // for two hours the head has named a later one
}

type headState struct {
	there                   bool
	low, high, nonce, moves uint8
	version                 uint8
}

type writerState struct {
	pc, known uint8 // known: the chunk to append to, 0: ask the head first
	head      headState
	nonce     uint8 // of the chunk it adds
	tries     uint8
}

// lateState is a write under way: 1 append, 2 add of a chunk, 3 cas of the head.
type lateState struct {
	kind, n, own, prev, ids uint8
	was, to                 headState
}

type compactorState struct {
	pc    uint8
	head  headState
	chunk chunkState
	nonce uint8
}

type readerState struct {
	pc, got, left, bad uint8
	head               headState
}

type enumState struct {
	head   headState
	chunks [5]chunkState // 1 to 4
	line   [2]bool
	w      [2]writerState
	late   lateState
	lost   bool
	told   bool // someone has said ErrLost
	nonce  uint8
	hours  uint8
	k      compactorState
	r      readerState
}

// enumModel says what there is in the world, and what is wrong with the protocol.
type enumModel struct {
	late, loss, compact, reader, one bool

	noHead, noNonces, raiseBlind, anyChunk, makeHead, lineFirst, noMove, noWait bool
}

const ended = 9

func (s *enumState) swapHead(was, to headState) bool {
	if !s.head.there || s.head.version != was.version {
		return false
	}
	to.there, to.version = true, was.version+1
	s.head = to
	return true
}

func (s *enumState) addChunk(n uint8, c chunkState) bool {
	if s.chunks[n].there {
		return false
	}
	c.there = true
	s.chunks[n] = c
	return true
}

func (s *enumState) appendTo(n, ids uint8) bool {
	if !s.chunks[n].there {
		return false
	}
	s.chunks[n].ids |= ids
	s.chunks[n].version++
	return true
}

// look is a reader that takes no time.
func (o *enumModel) look(s enumState) (ids uint8, told bool) {
	if o.noHead {
		for n := 1; n < 5 && s.chunks[n].there; n++ {
			ids |= s.chunks[n].ids
		}
		return ids, false
	}
	if !s.head.there {
		return 0, true
	}
	for n := s.head.low; n <= s.head.high; n++ {
		c := s.chunks[n]
		follows := n == s.head.low || c.prev == s.chunks[n-1].own
		if !c.there || !o.noNonces && (!follows || n == s.head.high && c.own != s.head.nonce) {
			return 0, true
		}
		ids |= c.ids
	}
	return ids, false
}

func (o *enumModel) wrong(s enumState) string {
	if s.r.pc == ended && s.r.bad == 99 {
		return fmt.Sprintf("a walk has ended with nil, and has only %03b", s.r.got)
	}
	ids, told := o.look(s)
	told = told || s.told
	if told && !s.lost {
		return "someone says ErrLost, and nothing was lost"
	}
	for i := range 2 {
		if !s.line[i] && !told && ids&(1<<i) == 0 {
			return fmt.Sprintf("id %d is archived, no chunk has it, and no one says so", i)
		}
	}
	if !told && ids&4 == 0 {
		return "the old id is in no chunk, and no one says so"
	}
	return ""
}

type stepTo = func(enumState, string, ...any)

func (o *enumModel) steps(s enumState, step stepTo) {
	for i := range 2 {
		if i == 0 || !o.one {
			o.write(s, i, step)
		}
	}
	if s.late.kind != 0 {
		n := s
		z := s.late
		n.late = lateState{}
		switch z.kind {
		case 1:
			n.appendTo(z.n, z.ids)
		case 2:
			n.addChunk(z.n, chunkState{own: z.own, prev: z.prev, ids: z.ids})
		case 3:
			n.swapHead(z.was, z.to)
		}
		step(n, "a late request of kind %d arrives", z.kind)
	}
	if o.loss && !s.lost {
		o.lose(s, step)
	}
	if o.compact {
		o.compactor(s, step)
		o.wait(s, step)
	}
	if o.reader {
		o.read(s, step)
	}
}

func (o *enumModel) lose(s enumState, step stepTo) {
	for k := 1; k < 5; k++ {
		if s.chunks[k].there {
			n := s
			n.chunks[k], n.lost = chunkState{}, true
			step(n, "chunk %d is lost", k)
		}
	}
	if s.head.there {
		n := s
		n.head, n.lost = headState{}, true
		step(n, "the head is lost")
	}
}

// wait lets two hours pass: nothing is under way any longer, and who writes has looked
// at the head since.
func (o *enumModel) wait(s enumState, step stepTo) {
	if s.hours == 2 {
		return
	}
	n := s
	n.hours++
	n.late = lateState{}
	for k := uint8(1); k < 4; k++ {
		if s.head.there && k < s.head.high {
			n.chunks[k].followedForLong = n.chunks[k].there
		}
	}
	for i := range n.w {
		n.w[i].known = 0
	}
	step(n, "two hours pass")
}

// send carries out a write of the model now, now without an answer, or late.
func (o *enumModel) send(s enumState, what string, z lateState, do func(*enumState) bool, then func(*enumState, bool), unclear func(*enumState), step stepTo) {
	n := s
	then(&n, do(&n))
	step(n, "%s", what)
	if !o.late {
		return
	}
	n = s
	do(&n)
	unclear(&n)
	step(n, "%s, and is not answered", what)
	if s.late.kind == 0 {
		n = s
		n.late = z
		unclear(&n)
		step(n, "%s, which is late", what)
	}
}

// write is what writer i may do.
func (o *enumModel) write(s enumState, i int, step stepTo) {
	w, mine, who := s.w[i], uint8(1)<<i, fmt.Sprint("writer ", i)
	n := s
	switch w.pc {
	case 0: // append to the last chunk it knows, or look, since that is full
		if w.known > 0 {
			o.send(s, fmt.Sprint(who, " appends to ", w.known), lateState{kind: 1, n: w.known, ids: mine},
				func(s *enumState) bool { return s.appendTo(w.known, mine) },
				func(s *enumState, ok bool) {
					if s.w[i].known = 0; ok {
						s.w[i].pc, s.w[i].known = 5, w.known
					}
				}, func(s *enumState) {
					if s.w[i].tries++; s.w[i].tries > 1 {
						s.w[i].pc = ended // It gives up, and the line stays.
					}
				}, step)
		}
		n.w[i].pc = 1
		step(n, "%s looks at the head next", who)
	case 1:
		o.lookToWrite(s, i, who, step)
	case 2: // add the chunk after the last
		k := w.head.high + 1
		c := chunkState{own: w.nonce, prev: w.head.nonce, ids: mine}
		o.send(s, fmt.Sprint(who, " adds chunk ", k), lateState{kind: 2, n: k, own: c.own, prev: c.prev, ids: mine},
			func(s *enumState) bool { return s.addChunk(k, c) },
			func(s *enumState, ok bool) {
				if s.w[i].pc = 4; ok {
					s.w[i].pc = 3
				}
			}, func(s *enumState) { s.w[i].pc = 4 }, step)
		if o.lineFirst && n.addChunk(k, c) {
			n.line[i], n.w[i].pc = false, 3
			step(n, "%s adds chunk %d, and the line goes", who, k)
		}
	case 4: // someone has added it
		c := s.chunks[w.head.high+1]
		if n.w[i].nonce, n.w[i].pc = c.own, 6; !c.there {
			n.w[i] = writerState{pc: 1, head: w.head, tries: w.tries}
		}
		step(n, "%s reads chunk %d", who, w.head.high+1)
	case 3, 6: // let the head name it
		to := w.head
		to.high, to.nonce = to.high+1, w.nonce
		if o.noNonces {
			to.nonce = 0
		}
		again := func(s *enumState) { s.w[i] = writerState{pc: 1, head: w.head, tries: w.tries} }
		o.send(s, who+" raises the head", lateState{kind: 3, was: w.head, to: to},
			func(s *enumState) bool { return s.swapHead(w.head, to) },
			func(s *enumState, ok bool) {
				if again(s); w.pc == 3 && (ok || o.raiseBlind) {
					s.w[i].pc, s.w[i].known = 5, to.high
				}
			}, again, step)
	case 5: // archived: the line goes
		n.line[i], n.w[i].pc = false, ended
		step(n, "the line of %s goes", who)
	}
}

// lookToWrite is the look at the head of writer i.
func (o *enumModel) lookToWrite(s enumState, i int, who string, step stepTo) {
	w, h, n := s.w[i], s.head, s
	if !h.there {
		if n.told, n.w[i].pc = true, ended; o.makeHead {
			n = s
			n.head = headState{there: true, low: 1, high: 1, nonce: s.chunks[1].own, version: 20}
		}
		step(n, "%s finds no head", who)
		return
	}
	n.w[i].head = h
	if w.known == 0 || w.known < h.high {
		m := n
		if m.w[i].pc, m.w[i].known = 0, h.high; !s.chunks[h.high].there {
			m.told, m.w[i].pc = true, ended
		}
		step(m, "%s reads the head", who)
	}
	if h.high < 3 && s.nonce < 6 && w.tries < 2 {
		n.w[i].pc, n.w[i].nonce = 2, s.nonce
		n.w[i].tries++
		n.nonce++
		step(n, "%s reads the head, and the chunk is full", who)
	}
	if o.anyChunk && h.high < 3 && s.chunks[h.high+1].there {
		m := s
		m.w[i].known, m.w[i].pc = h.high+1, 0
		step(m, "%s finds a chunk that no head names", who)
	}
}

// compactor moves what chunk 1 holds to a new chunk, and takes it away.
func (o *enumModel) compactor(s enumState, step stepTo) {
	k, n := s.k, s
	switch k.pc {
	case 0:
		// It takes nothing away that shows a loss.
		if !s.head.there || s.head.low > 1 || s.head.high < 2 || s.head.high > 3 || s.nonce > 6 || s.chunks[2].prev != s.chunks[1].own {
			return
		}
		n.k = compactorState{pc: 1, head: s.head, chunk: s.chunks[1], nonce: s.nonce}
		n.nonce++
		step(n, "the compactor reads the head, chunk 1 and chunk 2")
		if s.chunks[1].ids == 0 {
			n.k.pc = 4
			step(n, "the compactor finds chunk 1 empty")
		}
	case 1:
		if n.k.pc = 0; n.addChunk(k.head.high+1, chunkState{own: k.nonce, prev: k.head.nonce, ids: k.chunk.ids}) {
			n.k.pc = 2
		}
		step(n, "the compactor adds a chunk with what chunk 1 holds")
	case 2:
		to := k.head
		to.high, to.nonce = to.high+1, k.nonce
		if !o.noMove {
			to.moves++
		}
		if n.k.pc = 0; n.swapHead(k.head, to) {
			n.k.pc = 3
		}
		step(n, "the compactor raises the head, one move more")
	case 3:
		if n.k.pc = 0; s.chunks[1].there && s.chunks[1].version == k.chunk.version {
			n.chunks[1].ids = 0
			n.chunks[1].version++
			n.k.chunk, n.k.pc = n.chunks[1], 4
		}
		step(n, "the compactor empties chunk 1")
	case 4:
		if !o.noWait && !s.chunks[1].followedForLong || s.chunks[2].prev != s.chunks[1].own {
			return
		}
		if n.k.pc, n.k.head, n.k.chunk = 5, s.head, s.chunks[1]; s.chunks[1].ids != 0 || !s.chunks[1].there {
			n.k.pc = 0
		}
		step(n, "the compactor reads chunk 1 and the head")
	case 5:
		to := k.head
		to.low = 2
		if n.k.pc = 0; n.swapHead(k.head, to) {
			n.k.pc = 6
		}
		step(n, "the compactor lets the head begin with chunk 2")
	case 6:
		if s.chunks[1].there && s.chunks[1].version == k.chunk.version {
			n.chunks[1] = chunkState{}
		}
		n.k.pc = ended
		step(n, "the compactor drops chunk 1")
	}
}

// read is the walk: lines, head, chunks in any order, head.
func (o *enumModel) read(s enumState, step stepTo) {
	r, n := s.r, s
	switch r.pc {
	case 0:
		for i := range 2 {
			if s.line[i] {
				n.r.got |= 1 << i
			}
		}
		n.r.pc = 1
		step(n, "the reader reads the lines")
	case 1:
		if n.r.head, n.r.pc, n.r.left = s.head, 2, between(s.head.low, s.head.high); !s.head.there {
			n.told, n.r.pc = true, ended
		}
		step(n, "the reader reads the head")
	case 2:
		for k := uint8(1); k < 5; k++ {
			if r.left&(1<<k) == 0 {
				continue
			}
			m := s
			m.r.left &^= 1 << k
			if s.chunks[k].there {
				m.r.got |= s.chunks[k].ids
			} else {
				m.r.bad = k
			}
			if m.r.left == 0 {
				m.r.pc = 3
			}
			step(m, "the reader reads chunk %d", k)
		}
	case 3:
		switch {
		case !s.head.there, r.bad != 0 && s.head.low <= r.bad:
			n.told, n.r.pc = true, ended
		case r.bad != 0: // It has left, so all is read again.
			n.r.pc, n.r.bad = 1, 0
		case s.head.moves != r.head.moves:
			n.r.pc, n.r.left, n.r.head = 2, between(r.head.high, s.head.high), s.head
		default:
			if n.r.pc = ended; r.got != 7 && !s.lost {
				n.r.bad = 99
			}
		}
		step(n, "the reader reads the head again")
	}
}

func between(low, high uint8) (bits uint8) {
	for k := low; k <= high; k++ {
		bits |= 1 << k
	}
	return bits
}

func (o enumModel) reach() (int, error) {
	var s enumState
	s.head = headState{there: true, low: 1, high: 1, nonce: 1, version: 1}
	s.chunks[1] = chunkState{there: true, own: 1, ids: 4}
	s.line = [2]bool{true, true}
	s.nonce = 2
	s.w[0].known, s.w[1].known = 1, 1
	return proof.Reach(proof.Model[enumState]{Begin: s, Steps: o.steps, Wrong: o.wrong, Most: 40_000_000})
}

func TestModels_AnIDIsInALineOrInAChunkOrItsLossIsTold(t *testing.T) {
	worlds := map[string]enumModel{
		"late requests, loss of a key": {late: true, loss: true},
		"late requests, a reader":      {late: true, reader: true},
		"compaction, loss of a key":    {compact: true, loss: true},
		"compaction, a reader":         {compact: true, reader: true},
	}
	for name, o := range worlds {
		o.one = !proof.Long()
		states, err := o.reach()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		t.Logf("%s: %d states", name, states)
	}
	for name, o := range map[string]enumModel{
		"a walk ends at what is absent":                   {loss: true, noHead: true},
		"chunks have no nonces":                           {loss: true, noNonces: true},
		"who loses the race for the head is in":           {loss: true, raiseBlind: true},
		"ids are appended to a chunk that no head names":  {loss: true, anyChunk: true},
		"who finds no head makes one":                     {loss: true, makeHead: true},
		"the line goes before the head is raised":         {lineFirst: true},
		"ids move and the head does not say so":           {compact: true, reader: true, noMove: true},
		"a chunk leaves while there may be writes for it": {compact: true, noWait: true},
	} {
		if n, err := o.reach(); err == nil {
			t.Errorf("nothing notices that %s, in %d states", name, n)
		}
	}
}
