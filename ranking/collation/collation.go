// Package collation sorts texts in the order of a language, for boards of words: see ranking.Text.
// The orders and their large tables are those of golang.org/x/text/collate.
//
// The word of a text is its collation key, compressed. A key has levels: the weights of letters,
// then of accents, then of case, 16 bits or more each. Here frequent weights get short codes, from
// a table that keeps the order: about five bits for a Latin letter. A plain level takes two bits.
// The word ends after 64 bytes, about a hundred Latin letters.
package collation

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// version must be incremented when words change with the same collation tables.
const version = 1

// Collation is the order of a language. It is safe for concurrent use.
type Collation struct {
	name string
	pool sync.Pool // of *collator
}

type collator struct {
	*collate.Collator
	buffer collate.Buffer
}

// Of returns the order of a BCP 47 locale, such as "sv" or "de-u-co-phonebk"; "" is the root order.
// It panics if the locale is invalid.
func Of(locale string) *Collation {
	tag, err := language.Parse(locale)
	if err != nil && locale != "" {
		panic("collation: the locale " + strconv.Quote(locale) + ": " + err.Error())
	}
	name := "root"
	if locale != "" {
		name = tag.String()
	}
	return &Collation{
		name: name + "." + collate.CLDRVersion + "." + strconv.Itoa(version),
		pool: sync.Pool{New: func() any { return &collator{Collator: collate.New(tag)} }},
	}
}

// Name returns the locale, and the versions of the tables and of the words.
func (c *Collation) Name() string { return c.name }

const mostRead = 4096

func (c *Collation) key(text string, f func(levels)) {
	if len(text) > mostRead {
		text = text[:mostRead]
	}
	by := c.pool.Get().(*collator)
	defer c.pool.Put(by)
	by.buffer.Reset()
	f(levelsOf(by.KeyFromString(&by.buffer, text)))
}

// Word returns 1 to 64 bytes that sort like text: see ranking.Collation.
func (c *Collation) Word(text string) (word string) {
	c.key(text, func(l levels) {
		var w writer
		for _, weight := range l.letters {
			w.weight(letterCodes(), weight)
		}
		w.weight(letterCodes(), end)
		w.level(accentCodes(), l.accents, plainAccent, len(l.letters))
		w.level(caseCodes(), l.cases, plainCase, len(l.letters))
		word = string(w.bytes)
	})
	return word
}

// Prefix returns the range of the words of all texts that begin with the letters of text: see
// ranking.Collation.
func (c *Collation) Prefix(text string) (low, high string) {
	c.key(text, func(l levels) {
		var w writer
		for _, weight := range l.letters {
			w.weight(letterCodes(), weight)
		}
		low, high = string(w.bytes), w.next()
	})
	return low, high
}

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

// code is the encoding of weights from low on: n bits of prefix, then the distance from low in rest
// bits. Codes sort like weights, and none is a prefix of another.
type code struct {
	low  int
	bits int
	n    int
	rest int
}

// below all weights
const end = 0

type class struct{ low, high, often int }

const mostWeight = 1<<23 - 1

// frequent lists the letters with codes of their own, by their frequency in some thousand letters
// of titles, and ranges of letters by that of the range.
var frequent = []struct {
	often       int
	first, last string // "": as first
}{
	{240, " ", ""}, {8, "-", ""}, {12, ",", ""}, {6, ":", ""}, {4, "!", ""}, {4, "?", ""}, {10, ".", ""},
	{10, "'", ""}, {3, "(", ""}, {3, ")", ""}, {3, "&", ""},
	{12, "0", ""}, {14, "1", ""}, {12, "2", ""}, {8, "3", ""}, {6, "4", ""},
	{6, "5", ""}, {6, "6", ""}, {6, "7", ""}, {6, "8", ""}, {8, "9", ""},
	{130, "a", ""}, {30, "b", ""}, {50, "c", ""}, {64, "d", ""}, {190, "e", ""}, {36, "f", ""}, {32, "g", ""},
	{84, "h", ""}, {116, "i", ""}, {6, "j", ""}, {16, "k", ""}, {70, "l", ""}, {48, "m", ""}, {112, "n", ""},
	{124, "o", ""}, {36, "p", ""}, {3, "q", ""}, {100, "r", ""}, {100, "s", ""}, {136, "t", ""}, {48, "u", ""},
	{16, "v", ""}, {34, "w", ""}, {4, "x", ""}, {32, "y", ""}, {6, "z", ""},
	{30, "α", "ω"}, {120, "а", "я"}, {40, "א", "ת"}, {50, "ا", "ي"}, {40, "अ", "ह"}, {40, "ก", "ฮ"},
	{80, "\u1100", "\u1112"}, {80, "\u1161", "\u1175"}, {60, "\u11a8", "\u11c2"}, // the parts of Korean syllables
	{120, "あ", "ん"}, {120, "一", "龥"},
}

// letterCodes takes weights from the root order; most letters have the same in other languages.
var letterCodes = sync.OnceValue(func() []code {
	root, classes := collate.New(language.Und), []class{{end, end, 100}}
	weight := func(letter string) int {
		var b collate.Buffer
		return levelsOf(root.KeyFromString(&b, letter)).letters[0]
	}
	for _, f := range frequent {
		classes = append(classes, class{weight(f.first), weight(cmp.Or(f.last, f.first)), f.often})
	}
	// Chinese and Japanese sort frequent characters in an order of their own.
	return codesOf(append(classes, class{0x160000, 0x16ffff, 120}), mostWeight)
})

var accentCodes = sync.OnceValue(func() []code {
	return codesOf([]class{{end, end, 10}, {plainAccent, plainAccent, 90}, {plainAccent + 1, 0x7f, 20}}, 1<<16-1)
})

var caseCodes = sync.OnceValue(func() []code {
	return codesOf([]class{{end, end, 10}, {plainCase, plainCase, 80}, {0x08, 0x08, 25}, {0x0e, 0x0e, 10}, {0x11, 0x11, 10}}, 1<<8-1)
})

// codesOf returns codes for all weights up to most. Weights outside of classes are rare.
func codesOf(classes []class, most int) []code {
	slices.SortFunc(classes, func(a, b class) int { return a.low - b.low })
	var all []class
	next := end
	for _, c := range append(classes, class{low: most + 1}) {
		if next < c.low {
			all = append(all, class{next, c.low - 1, 1})
		}
		if c.low <= most {
			all = append(all, c)
		}
		next = c.high + 1
	}
	return divide(nil, all, 0, 0)
}

// divide appends the codes of classes, which share a prefix of n bits, halved by frequency.
func divide(codes []code, classes []class, begin, n int) []code {
	if len(classes) == 1 {
		c := classes[0]
		return append(codes, code{c.low, begin, n, bits.Len(uint(c.high - c.low))})
	}
	total := 0
	for _, c := range classes {
		total += c.often
	}
	at, left := 1, classes[0].often
	for at < len(classes)-1 && 2*left+classes[at].often < total {
		left += classes[at].often
		at++
	}
	codes = divide(codes, classes[:at], begin<<1, n+1)
	return divide(codes, classes[at:], begin<<1|1, n+1)
}
