package collation

import "slices"

const maxBits = 512

// writer writes the bits of a word. It drops bits beyond maxBits: two truncated words are still
// never a prefix of each other.
type writer struct {
	bytes []byte
	n     int // bits
}

func (w *writer) bits(v, n int) {
	for n--; n >= 0 && w.n < maxBits; n-- {
		if w.n%8 == 0 {
			w.bytes = append(w.bytes, 0)
		}
		w.bytes[w.n/8] |= byte(v>>n&1) << (7 - w.n%8)
		w.n++
	}
}

func (w *writer) weight(codes []code, weight int) {
	at, found := slices.BinarySearchFunc(codes, weight, func(c code, weight int) int { return c.low - weight })
	if !found {
		at--
	}
	c := codes[at]
	w.bits(c.bits, c.n)
	w.bits(weight-c.low, c.rest)
}

// level writes a level of n expected weights, usually all plain, after whether it is equal to that,
// above or below.
func (w *writer) level(codes []code, weights []int, plain, n int) {
	switch order := slices.Compare(weights, slices.Repeat([]int{plain}, n)); order {
	case 0:
		w.bits(0b01, 2)
		return
	case 1:
		w.bits(0b1, 1)
	default:
		w.bits(0b00, 2)
	}
	for _, weight := range weights {
		w.weight(codes, weight)
	}
	w.weight(codes, end)
}

// next returns the first word after all words with the written prefix, or "".
func (w *writer) next() string {
	next := slices.Clone(w.bytes)
	for at := w.n - 1; at >= 0; at-- {
		if bit := byte(1) << (7 - at%8); next[at/8]&bit == 0 {
			next[at/8] |= bit
			return string(next[:at/8+1])
		} else {
			next[at/8] &^= bit
		}
	}
	return ""
}
