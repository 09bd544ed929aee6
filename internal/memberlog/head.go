package memberlog

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"sync/atomic"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// head names the segments of a list, whose prefixes cover all hashes. A list without a head has one
// segment, the first. Only seen and looked change.
type head struct {
	stored  bool
	version kv.Version // if just read
	value   []byte     // of the stored head, nil if not read
	parts   []part     // in the order of their prefixes

	// lost is the number of the rebuild that restores a loss, 0 if nothing is lost.
	lost uint64

	// looked is when this process last saw that this head is stored, in Unix nanoseconds.
	looked atomic.Int64

	seen []atomic.Int32
}

// part is a segment with the members whose hashes begin with its prefix.
type part struct {
	name    name
	depth   uint8  // bits of its prefix
	from    uint64 // its first hash
	rolling bool   // a process is about to replace it
	members int    // when it was created
}

// name is random and never reused. The first segment has the zero name.
type name [16]byte

const (
	headFormat = 0xe6
	maxDepth   = 48
	maxMembers = 1 << 20 // of a segment

	flagRolling = 1

	// lossUndated is lost until the number of the rebuild is known.
	lossUndated = 1 << 62
)

func noHead() *head { return &head{parts: []part{{}}, seen: make([]atomic.Int32, 1)} }

func (h *head) saysSame(r kv.Result) bool {
	return h != nil && h.value != nil && h.version == r.Version && bytes.Equal(h.value, r.Value)
}

func (h *head) namesSame(other *head) bool {
	return slices.EqualFunc(h.parts, other.parts, func(p, q part) bool { return p.name == q.name && p.depth == q.depth })
}

func (p *part) last() uint64 { return p.from + (^uint64(0) >> p.depth) }

func (p *part) share() float64 { return 1 / float64(uint64(1)<<p.depth) }

func (h *head) find(hash uint64) int {
	i, found := slices.BinarySearchFunc(h.parts, hash, func(p part, hash uint64) int { return cmp.Compare(p.from, hash) })
	if !found {
		i--
	}
	return i
}

func (h *head) indexOf(n name) int {
	return slices.IndexFunc(h.parts, func(p part) bool { return p.name == n })
}

func (h *head) indexOfRun(ns []name) int {
	first := h.indexOf(ns[0])
	if first < 0 || first+len(ns) > len(h.parts) {
		return -1
	}
	for i, n := range ns {
		if h.parts[first+i].name != n {
			return -1
		}
	}
	return first
}

func (h *head) with(first, count int, parts []part) *head {
	next := &head{stored: h.stored, version: h.version, lost: h.lost}
	next.parts = slices.Concat(h.parts[:first], parts, h.parts[first+count:])
	next.seen = make([]atomic.Int32, len(next.parts))
	for i := range next.parts {
		next.seen[i].Store(int32(next.parts[i].members))
	}
	return next
}

func (p *part) split(bits uint8) []part {
	parts := make([]part, 1<<bits)
	for i := range parts {
		parts[i].depth = p.depth + bits
		parts[i].from = p.from
		if parts[i].depth > 0 {
			parts[i].from += uint64(i) << (64 - parts[i].depth)
		}
	}
	return parts
}

func (h *head) encode() []byte {
	b := []byte{headFormat}
	b = binary.AppendUvarint(b, h.lost)
	b = binary.AppendUvarint(b, uint64(len(h.parts)))
	for _, p := range h.parts {
		var flags byte
		if p.rolling {
			flags = flagRolling
		}
		b = append(b, p.depth, flags)
		b = append(b, p.name[:]...)
		b = binary.AppendUvarint(b, uint64(p.members))
	}
	return frame.Whole(b)
}

func parseHead(value []byte, version kv.Version) (*head, error) {
	payload, damaged := frame.Open(value)
	end := len(payload)
	if end < 1 || payload[0] != headFormat {
		return nil, corrupt(0, "the head of a list")
	}
	if damaged != nil {
		return nil, corrupt(end, "the checksum of a list's head")
	}
	p := parser{data: value, at: 1, end: end}
	h := &head{stored: true, version: version, value: value}
	h.lost, _ = p.number()
	count, ok := p.number()
	if !ok || count == 0 || count > uint64(end-p.at)/19 {
		return nil, corrupt(p.at, "the number of segments")
	}
	h.parts, h.seen = make([]part, count), make([]atomic.Int32, count)
	for i := range h.parts {
		if h.parts[i], ok = p.part(); !ok {
			return nil, corrupt(p.at, "a segment in a list's head")
		}
		h.seen[i].Store(int32(h.parts[i].members))
	}
	if p.at != end || !h.divide() {
		return nil, corrupt(p.at, "the prefixes in a list's head")
	}
	return h, nil
}

func IsHead(value []byte) bool {
	_, err := parseHead(value, 0)
	return err == nil
}

func (p *parser) part() (s part, ok bool) {
	if p.end-p.at < 19 {
		return s, false
	}
	s.depth, s.rolling = p.data[p.at], p.data[p.at+1]&flagRolling != 0
	copy(s.name[:], p.data[p.at+2:])
	p.at += 18
	members, ok := p.number()
	s.members = int(members)
	return s, ok && members <= maxMembers && s.depth <= maxDepth
}

// divide sets the first hashes, and reports whether the parts cover every hash once.
func (h *head) divide() bool {
	var from uint64
	for i := range h.parts {
		p := &h.parts[i]
		p.from = from
		width := ^uint64(0) >> p.depth // minus 1: the width may be 2^64
		if from&width != 0 {
			return false
		}
		from += width + 1
		if last := i == len(h.parts)-1; last != (from == 0) {
			return false
		}
	}
	return true
}
