package keytree

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"math"
	"math/bits"
	"strings"
	"time"
)

const (
	hashBytes = 16

	perLevel = 2

	// A node with a name of the maximal length is never split.
	maxBits     = 150
	maxWordBits = 8*MaxWord + 88
)

func (c Code) maxBits() int {
	if c == Words {
		return maxWordBits
	}
	return maxBits
}

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

// child returns the child that bits lead to, 0 to 3.
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

func edgeOf(s Score, down bool) point {
	if down {
		return after(s)
	}
	return before(s)
}

// Score is a number or a word; greater scores are higher. Between equal scores the greater tie is
// higher.
type Score struct {
	n, tie uint64
	word   string // "" for a number; a tree has only numbers or only words
}

const signBit = 1 << 63

func FromInt(n int64) Score { return Score{n: uint64(n) ^ signBit} }

func (s Score) Int() int64 { return int64(s.n ^ signBit) }

func FromUint(n uint64) Score { return Score{n: n} }

func (s Score) Uint() uint64 { return s.n }

// FromFloat takes -0 as 0, and returns false for NaN.
func FromFloat(f float64) (Score, bool) {
	b := math.Float64bits(f)
	switch {
	case math.IsNaN(f):
		return Score{}, false
	case f == 0:
		b = signBit
	case b&signBit != 0:
		b = ^b
	default:
		b |= signBit
	}
	return Score{n: b}, true
}

func (s Score) Float() float64 {
	if s.n&signBit != 0 {
		return math.Float64frombits(s.n &^ signBit)
	}
	return math.Float64frombits(^s.n)
}

// FromWord returns the score of up to MaxWord bytes that sort like a text, with no word a prefix of
// another. It may also be a bound between words.
func FromWord(word string) Score { return Score{word: word} }

func (s Score) Word() string { return s.word }

const MaxWord = 64

const tieBits = 62

const MaxTie = 1<<tieBits - 1

// TieAt returns the nanoseconds since 1970, clamped to 1970 and 2116.
func TieAt(t time.Time) uint64 {
	switch {
	case t.Before(time.Unix(0, 0)):
		return 0
	case t.After(time.Unix(0, MaxTie)):
		return MaxTie
	}
	return uint64(t.UnixNano())
}

func (s Score) WithTie(tie uint64) Score { return Score{s.n, tie, s.word} }

func (s Score) Tie() uint64 { return s.tie }

// Equals ignores ties.
func (s Score) Equals(other Score) bool { return s.n == other.n && s.word == other.word }

func (s Score) Compare(other Score) int {
	return cmp.Or(cmp.Compare(s.n, other.n), cmp.Compare(s.word, other.word), cmp.Compare(s.tie, other.tie))
}

// Code encodes scores as bits that sort like them. None is a prefix of another.
type Code byte

// Small numbers have short codes, except with Float.
const (
	Signed   Code = 'i'
	Unsigned Code = 'u'
	Float    Code = 'f'
	Words    Code = 't'
)

const tiesBit = 'a' ^ 'A'

// WithTies returns the variant of c that appends the tie.
func (c Code) WithTies() Code { return c &^ tiesBit }

func (c Code) alone() Code { return c | tiesBit }

func (c Code) known() bool { return strings.ContainsRune("iufIUFt", rune(c)) }

func (c Code) append(dst []byte, s Score) []byte {
	if c != c.alone() {
		return appendBits(c.alone().append(dst, s), s.tie, tieBits)
	}
	switch {
	case c == Words:
		return appendWord(dst, s)
	case c == Float:
		return appendBits(dst, s.n, 64)
	case c == Unsigned && s.n >= signBit:
		return appendBits(dst, s.n, 64)
	case c == Unsigned:
		return appendMagnitude(append(dst, '0'), s.n+1, false)
	case s.Int() >= 0:
		return appendMagnitude(append(dst, '1'), uint64(s.Int())+1, false)
	default:
		return appendMagnitude(append(dst, '0'), -uint64(s.Int()), true)
	}
}

// A score with a number is above all words.
func appendWord(dst []byte, s Score) []byte {
	if s.n > 0 {
		return append(dst, strings.Repeat("1", 8*MaxWord)...)
	}
	for i := range len(s.word) {
		dst = appendBits(dst, uint64(s.word[i]), 8)
	}
	return dst
}

// appendMagnitude appends v > 0 as the position of its first bit and the bits after it, inverted if
// turned.
func appendMagnitude(dst []byte, v uint64, turned bool) []byte {
	e := bits.Len64(v) - 1
	begin := len(dst)
	dst = appendBits(dst, uint64(e), 6)
	dst = appendBits(dst, v, e)
	if turned {
		for i := begin; i < len(dst); i++ {
			dst[i] ^= '0' ^ '1'
		}
	}
	return dst
}

func appendBits(dst []byte, v uint64, n int) []byte {
	for n--; n >= 0; n-- {
		dst = append(dst, '0'+byte(v>>n&1))
	}
	return dst
}

// hasWhole reports whether bits contain a whole score, so that all members below have it. The end
// of a word is never known.
func (c Code) hasWhole(bits []byte) bool {
	switch c = c.alone(); {
	case len(bits) == 0 || c == Words:
		return false
	case c == Float || c == Unsigned && bits[0] == '1':
		return len(bits) >= 64
	case len(bits) < magnitudeBegin:
		return false
	}
	e := 0
	for _, b := range bits[1:magnitudeBegin] {
		e = e<<1 | int(b-'0')
	}
	if c == Signed && bits[0] == '0' {
		e ^= 63
	}
	return len(bits) >= magnitudeBegin+e
}

// a sign, and six for the length
const magnitudeBegin = 7
