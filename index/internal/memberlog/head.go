package memberlog

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"slices"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// head names the segments of a list. Each holds the members whose hashes begin
// with its prefix; the prefixes divide all hashes among them. A list without a
// head has one segment, the first.
//
// A head does not change once it is made, but for what its process has seen of
// the segments.
type head struct {
	stored  bool
	version kv.Version // of the stored one, if it was just read
	value   []byte     // of it, nil if it was not read
	parts   []part     // in the order of their prefixes

	// lost is not 0 if a segment of the list, with what was in it, has
	// vanished from the store: then it is the number that a rebuild must have
	// to make up for that.
	lost uint64

	// seen are the members of each part when this process last read it.
	seen []atomic.Int32
}

// part is one segment as a head names it.
type part struct {
	name    name
	depth   uint8  // the number of bits of its prefix
	from    uint64 // its first hash
	rolling bool   // somebody is about to replace it
	members int    // when it was made
}

// name tells the segments of a list apart. It is random and never used twice;
// the zero name is that of the first segment.
type name [16]byte

const (
	headFormat = 0xe6
	maxDepth   = 48
	maxMembers = 1 << 20 // of a segment; each takes more than a byte

	flagRolling = 1

	// lostLately is what lost is until somebody has looked which rebuild it
	// takes.
	lostLately = 1 << 62
)

// noHead is the head of a list that has none.
func noHead() *head { return &head{parts: []part{{}}, seen: make([]atomic.Int32, 1)} }

// saysSame tells whether h, which may be nil, was made from an answer like r.
// Writers that verify what they append read the same head again and again.
func (h *head) saysSame(r kv.Result) bool {
	return h != nil && h.value != nil && h.version == r.Version && bytes.Equal(h.value, r.Value)
}

// last returns the last hash of p.
func (p *part) last() uint64 { return p.from + (^uint64(0) >> p.depth) }

// share returns which part of all hashes p holds.
func (p *part) share() float64 { return 1 / float64(uint64(1)<<p.depth) }

// find returns the place of the part that holds hash.
func (h *head) find(hash uint64) int {
	i, found := slices.BinarySearchFunc(h.parts, hash, func(p part, hash uint64) int {
		switch {
		case p.from < hash:
			return -1
		case p.from > hash:
			return 1
		}
		return 0
	})
	if !found {
		i--
	}
	return i
}

// place returns where h names the segment n, -1 if it does not.
func (h *head) place(n name) int {
	return slices.IndexFunc(h.parts, func(p part) bool { return p.name == n })
}

// places returns where h names the segments ns, which must lie side by side,
// -1 if it does not name them all.
func (h *head) places(ns []name) int {
	first := h.place(ns[0])
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

// with returns h with count parts, from the place first on, replaced.
func (h *head) with(first, count int, parts []part) *head {
	next := &head{stored: h.stored, version: h.version, lost: h.lost}
	next.parts = slices.Concat(h.parts[:first], parts, h.parts[first+count:])
	next.seen = make([]atomic.Int32, len(next.parts))
	for i := range next.parts {
		next.seen[i].Store(int32(next.parts[i].members))
	}
	return next
}

// split returns the parts that p is divided into by the next bits of the hash.
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
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castag))
}

// parseHead returns the head in value, or an ErrCorrupt.
func parseHead(value []byte, version kv.Version) (*head, error) {
	end := len(value) - 4
	if end < 1 || value[0] != headFormat {
		return nil, corrupt(0, "the head of a list")
	}
	if crc32.Checksum(value[:end], castag) != binary.BigEndian.Uint32(value[end:]) {
		return nil, corrupt(end, "the checksum of a list's head")
	}
	p := parser{data: value, at: 1, end: end}
	h := &head{stored: true, version: version, value: value}
	var ok bool
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

// divide gives each part its first hash. It tells whether they divide all
// hashes among them.
func (h *head) divide() bool {
	var from uint64
	for i := range h.parts {
		p := &h.parts[i]
		p.from = from
		width := ^uint64(0) >> p.depth // one less than it is, which may be 2^64
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
