package collation

import "slices"

// maxBits is how many bits of a word there are at most.
const maxBits = 512

// writer writes the bits of a word, the highest of each byte first. What comes after maxBits is
// left out: of words that were cut none is the beginning of another.
type writer struct {
	bytes []byte
	n     int // bits
}

// bits writes the last n bits of v.
func (w *writer) bits(v, n int) {
	for n--; n >= 0 && w.n < maxBits; n-- {
		if w.n%8 == 0 {
			w.bytes = append(w.bytes, 0)
		}
		w.bytes[w.n/8] |= byte(v>>n&1) << (7 - w.n%8)
		w.n++
	}
}

// weight writes the code of a weight.
func (w *writer) weight(codes []code, weight int) {
	at, found := slices.BinarySearchFunc(codes, weight, func(c code, weight int) int { return c.low - weight })
	if !found {
		at--
	}
	c := codes[at]
	w.bits(c.bits, c.n)
	w.bits(weight-c.low, c.rest)
}

// level writes a level of which n weights are expected, all of them plain. So are they mostly,
// and whether they are above that, or below, is said first.
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

// next returns the first word after all that begin with what was written, "" if none is.
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
