package collation

type levels struct{ letters, accents, cases []int }

// Weights without a distinction.
const (
	plainAccent = 0x20 // no accent
	plainCase   = 0x02 // a small letter
)

// levelsOf parses a key of package collate: weights of letters, two bytes each, or three if the
// first bit is set; two zeros; weights of accents, two bytes each; two zeros; then bytes of further
// levels.
func levelsOf(key []byte) (l levels) {
	l.letters, key = weights(key)
	l.accents, key = weights(key)
	for _, b := range key {
		l.cases = append(l.cases, int(b))
	}
	return l
}

// weights returns the weights before the next two zeros, and the rest of key.
func weights(key []byte) (all []int, rest []byte) {
	for len(key) >= 2 {
		w, size := int(key[0])<<8|int(key[1]), 2
		if w>>15 == 1 && len(key) > 2 {
			w, size = w&0x7fff<<8|int(key[2]), 3
		}
		if key = key[size:]; w == 0 {
			break
		}
		all = append(all, w)
	}
	return all, key
}
