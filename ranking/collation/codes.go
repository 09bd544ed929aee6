package collation

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// code is the encoding of weights from low on: n bits of prefix, then the distance from low in rest
// bits. Codes sort like weights, and none is a prefix of another.
type code struct {
	low  int
	bits int
	n    int
	rest int
}

// end marks the end of a level. It is below all weights.
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

// caseCodes are the codes of small, capital, Hiragana, Katakana.
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
