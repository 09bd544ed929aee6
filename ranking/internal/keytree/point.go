package keytree

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"math"
	"strings"
)

const (
	hashBytes = 16

	perLevel = 2

	// The greatest lengths of a node's name. A node with such a name is never split.
	maxBits     = 150
	maxWordBits = 8*MaxWord + 88
)

func (c Code) maxBits() int {
	if c == Words {
		return maxWordBits
	}
	return maxBits
}

// point is a position in the order of all possible members.
type point struct {
	score Score
	hash  [hashBytes]byte
	side  int8 // -1: just below the member, 1: just above it
}

var (
	lowest  = before(Score{})
	highest = after(Score{n: math.MaxUint64})
)

// before returns the point below all members with score s, whatever their ties.
func before(s Score) point { return point{score: s.WithTie(0), side: -1} }

func after(s Score) point {
	p := point{score: s.WithTie(math.MaxUint64), side: 1}
	for i := range p.hash {
		p.hash[i] = 0xff
	}
	return p
}

func (p point) beside(above bool) point {
	p.side = -1
	if above {
		p.side = 1
	}
	return p
}

func (p point) compare(q point) int {
	return cmp.Or(p.score.Compare(q.score), bytes.Compare(p.hash[:], q.hash[:]), cmp.Compare(p.side, q.side))
}

type order struct {
	code Code
	salt [16]byte
}

// The hash spreads members with equal scores over nodes; the salt makes it unpredictable.
func (o *order) point(s Score, id string) point {
	p := point{score: s}
	var room [128]byte
	sum := sha256.Sum256(append(append(room[:0], o.salt[:]...), id...))
	copy(p.hash[:], sum[:])
	return p
}

func (o *order) bits(p point) string {
	var room [8*MaxWord + 8*hashBytes]byte
	b := o.code.append(room[:0], p.score)
	for _, h := range p.hash {
		b = appendBits(b, uint64(h), 8)
	}
	for len(b) < o.code.maxBits() {
		b = append(b, '0')
	}
	return string(b[:o.code.maxBits()])
}

// child returns the child of the node called name that bits lead to, 0 to 3.
func child(name, bits string) int {
	return int(bits[len(name)]-'0')<<1 | int(bits[len(name)+1]-'0')
}

func childName(name string, i int) string { return name + "00011011"[2*i:2*i+perLevel] }

// appendName appends a node's name as in keys: its bits or, for the long names of words, a
// hexadecimal digit per two levels and one of ghij for an odd level.
func (c Code) appendName(dst []byte, name string) []byte {
	if c != Words {
		return append(dst, name...)
	}
	for ; len(name) >= 2*perLevel; name = name[2*perLevel:] {
		dst = append(dst, "0123456789abcdef"[child("", name)<<2|child(name[:perLevel], name)])
	}
	if name != "" {
		dst = append(dst, "ghij"[child("", name)])
	}
	return dst
}

func (c Code) IsName(text string) bool {
	if c != Words {
		return strings.Trim(text, "01") == ""
	}
	return strings.Trim(strings.TrimRight(text, "ghij"), "0123456789abcdef") == ""
}

func parent(name string) string { return name[:len(name)-perLevel] }

// edgeOf returns the point just before all members with score s in a direction.
func edgeOf(s Score, down bool) point {
	if down {
		return after(s)
	}
	return before(s)
}
