package keytree

import (
	"cmp"
	"math"
	"math/bits"
	"strings"
	"time"
)

// Score is a score in the order of the tree, a number or a word: greater scores are higher. Between
// equal scores, the greater tie is higher. Most trees have no ties: theirs are 0.
type Score struct {
	n, tie uint64
	word   string // "" for a number; a tree has only numbers or only words
}

const signBit = 1 << 63

// FromInt returns the score of n.
func FromInt(n int64) Score { return Score{n: uint64(n) ^ signBit} }

// Int returns the integer given to FromInt.
func (s Score) Int() int64 { return int64(s.n ^ signBit) }

// FromUint returns the score of n.
func FromUint(n uint64) Score { return Score{n: n} }

// Uint returns the integer given to FromUint.
func (s Score) Uint() uint64 { return s.n }

// FromFloat returns the score of f; -0 is 0. It returns false for NaN, which cannot be ordered.
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

// Float returns the number given to FromFloat.
func (s Score) Float() float64 {
	if s.n&signBit != 0 {
		return math.Float64frombits(s.n &^ signBit)
	}
	return math.Float64frombits(^s.n)
}

// FromWord returns the score of a word: up to MaxWord bytes that sort like the text, with no word a
// prefix of another. It may also be a bound between words.
func FromWord(word string) Score { return Score{word: word} }

// Word returns the word given to FromWord.
func (s Score) Word() string { return s.word }

// MaxWord is the maximum length of a word in bytes.
const MaxWord = 64

// tieBits is the number of bits for the tie in a position.
const tieBits = 62

// MaxTie is the greatest tie.
const MaxTie = 1<<tieBits - 1

// TieAt returns the tie of a time: its nanoseconds since 1970, clamped to the range of ties, which
// ends in 2116.
func TieAt(t time.Time) uint64 {
	switch {
	case t.Before(time.Unix(0, 0)):
		return 0
	case t.After(time.Unix(0, MaxTie)):
		return MaxTie
	}
	return uint64(t.UnixNano())
}

// WithTie returns s with that tie.
func (s Score) WithTie(tie uint64) Score { return Score{s.n, tie, s.word} }

// Tie returns the tie of s.
func (s Score) Tie() uint64 { return s.tie }

// Equals reports whether s and other are equal, ignoring ties.
func (s Score) Equals(other Score) bool { return s.n == other.n && s.word == other.word }

// Compare returns -1 if s is below other, 0 if they are equal, 1 if it is above. Ties count.
func (s Score) Compare(other Score) int {
	return cmp.Or(cmp.Compare(s.n, other.n), cmp.Compare(s.word, other.word), cmp.Compare(s.tie, other.tie))
}

// Code is an encoding of scores as bits. Codes sort like scores, and none is a prefix of another.
type Code byte

// Signed is for scores from FromInt, Unsigned for any numbers, Float for scores from FromFloat.
// Small numbers have short codes, except with Float, whose codes all have 64 bits. For scores with
// ties see WithTies. Words is for scores from FromWord; its codes are the bits of the words.
const (
	Signed   Code = 'i'
	Unsigned Code = 'u'
	Float    Code = 'f'
	Words    Code = 't'
)

// tiesBit turns a small letter into a capital.
const tiesBit = 'a' ^ 'A'

// WithTies returns the variant of c that appends the bits of the tie.
func (c Code) WithTies() Code { return c &^ tiesBit }

// alone returns the variant of c without the tie.
func (c Code) alone() Code { return c | tiesBit }

func (c Code) known() bool { return strings.ContainsRune("iufIUFt", rune(c)) }

// append appends the code of s, as the characters 0 and 1.
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

// appendWord appends the bits of a word. A score with a number is above all words.
func appendWord(dst []byte, s Score) []byte {
	if s.n > 0 {
		return append(dst, strings.Repeat("1", 8*MaxWord)...)
	}
	for i := range len(s.word) {
		dst = appendBits(dst, uint64(s.word[i]), 8)
	}
	return dst
}

// appendMagnitude appends v, which is not 0, as the position of its first bit and the bits after
// it, inverted for negative numbers.
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

// appendBits appends the last n bits of v.
func appendBits(dst []byte, v uint64, n int) []byte {
	for n--; n >= 0; n-- {
		dst = append(dst, '0'+byte(v>>n&1))
	}
	return dst
}

// hasWhole reports whether bits contain a whole score, without or with its tie, so that all members
// below have that score. The end of a word is never known.
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

// magnitudeBegin is the number of bits before those of a magnitude: one for the sign or for being a
// magnitude, and six for the number of bits.
const magnitudeBegin = 7
