package keytree

import (
	"math"
	"math/bits"
)

// Score is a score as the tree orders it: the greater is the higher, whatever it was
// made from.
type Score uint64

const signBit = 1 << 63

// FromInt returns the score of n.
func FromInt(n int64) Score { return Score(uint64(n) ^ signBit) }

// Int returns what FromInt made s from.
func (s Score) Int() int64 { return int64(uint64(s) ^ signBit) }

// FromFloat returns the score of f; -0 is 0. It returns false for NaN, which cannot
// be ordered.
func FromFloat(f float64) (Score, bool) {
	b := math.Float64bits(f)
	switch {
	case math.IsNaN(f):
		return 0, false
	case f == 0:
		b = signBit
	case b&signBit != 0:
		b = ^b
	default:
		b |= signBit
	}
	return Score(b), true
}

// Float returns what FromFloat made s from.
func (s Score) Float() float64 {
	b := uint64(s)
	if b&signBit != 0 {
		return math.Float64frombits(b &^ signBit)
	}
	return math.Float64frombits(^b)
}

// Code says how scores become bits. Codes keep the order of scores, and none is the
// beginning of another.
type Code byte

// Signed is for scores from FromInt, Unsigned for any numbers, Float for scores from
// FromFloat. Small numbers have short codes, except with Float, whose codes all have
// 64 bits.
const (
	Signed   Code = 'i'
	Unsigned Code = 'u'
	Float    Code = 'f'
)

func (c Code) known() bool { return c == Signed || c == Unsigned || c == Float }

// append appends the code of s, as the characters 0 and 1.
func (c Code) append(dst []byte, s Score) []byte {
	switch {
	case c == Float:
		return appendBits(dst, uint64(s), 64)
	case c == Unsigned && s >= signBit:
		return appendBits(dst, uint64(s), 64)
	case c == Unsigned:
		return appendMagnitude(append(dst, '0'), uint64(s)+1, false)
	case s.Int() >= 0:
		return appendMagnitude(append(dst, '1'), uint64(s.Int())+1, false)
	default:
		return appendMagnitude(append(dst, '0'), -uint64(s.Int()), true)
	}
}

// appendMagnitude appends v, which is not 0, as the position of its first bit and
// the bits after it, all of them inverted for negative numbers.
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
