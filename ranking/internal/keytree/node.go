package keytree

import (
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	leafKind      = 'L'
	splittingKind = 'S'
	routerKind    = 'R'

	denseRouterKind = 'D'

	metaKind   = 'M'
	edgeKind   = 'E'
	recordKind = 'I'
	leaseKind  = 'C'
	sealKind   = 'X' // root of a tree that has lost a node
)

const (
	entryLimit = 128
	softBytes  = 16 << 10 // a larger leaf is split
	hardBytes  = 512 << 10

	frozenBytes = 48 << 10 // maximum of a splitting leaf
)

// entry is a past, current or coming score of a member, and the version of the record with that
// score.
type entry struct {
	score   Score
	ver     uint64
	id      string
	pending bool // not confirmed by the record; does not count
}

const pendingBit = 1 << 47

type leaf struct {
	splitting bool
	closed    bool // empty; the way to it may be closed too
	seq       uint64
	pushed    tally
	entries   []entry
	settled   bool // all entries count
}

type slot struct {
	tally
	seq    uint64 // of the child when it had this tally
	closed bool
}

type router struct {
	closed bool
	seq    uint64
	pushed tally
	slots  [4]slot
}

func (r *router) members() int {
	n := 0
	for _, s := range r.slots {
		n += s.members
	}
	return n
}

func (r *router) isDense() bool {
	return r.pushed.scores > 0 || slices.ContainsFunc(r.slots[:], func(s slot) bool { return s.scores > 0 })
}

func (r *router) empty() bool {
	return !slices.ContainsFunc(r.slots[:], func(s slot) bool { return !s.closed })
}

// A node is a leaf, a router, or neither if it is absent or damaged.
type node struct {
	leaf    *leaf
	router  *router
	version kv.Version // 0: absent
	size    int
}

func (p node) missing() bool { return p.leaf == nil && p.router == nil }

func (p node) closed() bool {
	return p.leaf != nil && p.leaf.closed || p.router != nil && p.router.closed
}

func (p node) seq() uint64 {
	switch {
	case p.leaf != nil:
		return p.leaf.seq
	case p.router != nil:
		return p.router.seq
	}
	return 0
}

const (
	closedFlag = 1 << iota
	_
	tiesFlag
	denseFlag
	wordsFlag
)

func flagsOf(closed bool) byte {
	if closed {
		return closedFlag
	}
	return 0
}

// leafRooms has the memory of encoded leaves: a store does not retain a value.
var leafRooms = sync.Pool{New: func() any { return new([]byte) }}

// encode uses the memory of b, which is empty.
func (l *leaf) encode(b []byte) []byte {
	kind, flags := byte(leafKind), flagsOf(l.closed)
	if l.splitting {
		kind = splittingKind
	}
	tied := slices.ContainsFunc(l.entries, func(e entry) bool { return e.score.tie != 0 })
	if tied {
		flags |= tiesFlag
	}
	if l.pushed.scores > 0 {
		flags |= denseFlag
	}
	worded := slices.ContainsFunc(l.entries, func(e entry) bool { return e.score.word != "" })
	if worded {
		flags |= wordsFlag
	}
	b = append(slices.Grow(b, l.bytes()+frame.Sum), magic...)
	b = append(b, kind, flags)
	b = binary.AppendUvarint(b, l.seq)
	b = l.pushed.append(b, flags&denseFlag != 0)
	b = binary.AppendUvarint(b, uint64(len(l.entries)))
	for _, e := range l.entries {
		if worded {
			b = wire.AppendText(b, e.score.word)
		} else {
			b = binary.BigEndian.AppendUint64(b, e.score.n)
		}
		b = appendUint48(b, e.stored())
		if tied {
			b = binary.BigEndian.AppendUint64(b, e.score.tie)
		}
		b = wire.AppendText(b, e.id)
	}
	return frame.Whole(b)
}

func (e entry) stored() uint64 {
	if e.pending {
		return e.ver | pendingBit
	}
	return e.ver
}

func (l *leaf) bytes() int {
	n := 32
	for _, e := range l.entries {
		n += 16 + len(e.id) + len(e.score.word)
		if e.score.tie != 0 {
			n += 8
		}
	}
	return n
}

func decodeLeaf(kind byte, r reader) (*leaf, error) {
	flags := r.Byte()
	l := &leaf{splitting: kind == splittingKind, closed: flags&closedFlag != 0}
	l.seq = r.number()
	l.pushed = r.tally(flags&denseFlag != 0)
	least := 15
	if flags&wordsFlag != 0 {
		least = 8
	}
	n := r.Count("entries", least)
	l.entries = make([]entry, 0, n+1)
	// All texts share one string, since a leaf is read often and kept briefly.
	shared := string(r.Rest)
	text := func(what string) string {
		size := r.Count(what, 1)
		if r.Err != nil {
			return ""
		}
		at := len(shared) - len(r.Rest)
		r.Rest = r.Rest[size:]
		return shared[at : at+size]
	}
	for range n {
		var e entry
		if flags&wordsFlag != 0 {
			e.score.word = text("word")
		} else {
			e.score.n = r.Uint64()
		}
		e.ver = r.uint48()
		e.ver, e.pending = e.ver&^pendingBit, e.ver&pendingBit != 0
		if flags&tiesFlag != 0 {
			e.score.tie = r.Uint64()
		}
		if e.id = text("id"); r.Err != nil {
			break
		}
		l.entries = append(l.entries, e)
	}
	return l, r.end("leaf")
}

// encode appends the router to b.
func (r *router) encode(b []byte) []byte {
	kind, flags, dense := byte(routerKind), flagsOf(r.closed), r.isDense()
	if dense {
		kind = denseRouterKind
	}
	begin := len(b)
	b = append(append(b, magic...), kind, flags)
	b = binary.AppendUvarint(b, r.seq)
	b = r.pushed.append(b, dense)
	for _, s := range r.slots {
		b = appendFlag(b, s.closed)
		b = binary.AppendUvarint(b, s.seq)
		b = s.tally.append(b, dense)
	}
	return frame.End(b, begin)
}

func decodeRouter(kind byte, r reader) (*router, error) {
	flags := r.Byte()
	dense := kind == denseRouterKind
	out := &router{closed: flags&closedFlag != 0, seq: r.number(), pushed: r.tally(dense)}
	for i := range out.slots {
		out.slots[i] = slot{closed: r.Byte() != 0, seq: r.number(), tally: r.tally(dense)}
	}
	return out, r.end("router")
}

func decodeNode(r kv.Result) (node, error) {
	if r.Err != nil {
		return node{}, unlessAbsent(r.Err)
	}
	p := node{version: r.Version, size: len(r.Value)}
	kind, body, err := unseal(r.Value)
	if err != nil {
		return p, nil
	}
	switch kind {
	case leafKind, splittingKind:
		p.leaf, err = decodeLeaf(kind, body)
	case routerKind, denseRouterKind:
		p.router, err = decodeRouter(kind, body)
	}
	if err != nil {
		return node{version: r.Version}, nil
	}
	return p, nil
}

type tally struct{ members, scores int }

func (t tally) plus(other tally) tally {
	return tally{t.members + other.members, t.scores + other.scores}
}

func (t tally) off(other tally) int {
	return distance(t.members, other.members) + distance(t.scores, other.scores)
}

func distance(a, b int) int { return max(a-b, b-a) }

func (r *reader) tally(scores bool) tally {
	t := tally{members: int(r.number())}
	if scores {
		t.scores = int(r.number())
	}
	return t
}

func (t tally) append(dst []byte, scores bool) []byte {
	dst = binary.AppendUvarint(dst, uint64(t.members))
	if scores {
		dst = binary.AppendUvarint(dst, uint64(t.scores))
	}
	return dst
}

func unlessAbsent(err error) error {
	if errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}

func (p *nodes) live(l *leaf) tally { return p.tally(l.counted()) }

func (p *nodes) tally(entries []entry) tally {
	t := tally{members: len(entries)}
	if !p.dense {
		return t
	}
	for i, e := range entries {
		if i == 0 || !e.score.Equals(entries[i-1].score) {
			t.scores++
		}
	}
	return t
}

func (p *nodes) total(name string, r *router) tally {
	return p.some(name, r, func(int) bool { return true })
}

func (p *nodes) some(name string, r *router, wanted func(child int) bool) tally {
	var parts [4]tally
	for i, s := range r.slots {
		if wanted(i) {
			parts[i] = s.tally
		}
	}
	return p.sum(name, parts)
}

// A score is in two of the four children only if its bits end in the name or in its next bit: then
// it is the only score there.
func (p *nodes) sum(name string, parts [4]tally) (all tally) {
	var room [maxBits + 1]byte
	bits := append(room[:0], name...)
	for half := range 2 {
		t := parts[2*half].plus(parts[2*half+1])
		if t.scores > 1 && p.code.hasWhole(append(bits, '0'+byte(half))) {
			t.scores = 1
		}
		all = all.plus(t)
	}
	if all.scores > 1 && p.code.hasWhole(bits) {
		all.scores = 1
	}
	return all
}
