package templates

import (
	"regexp"
	"strings"
)

// A word includes the blanks around it, so the joined words are the text.
var wordOf = regexp.MustCompile(`\s*\S+\s*|\s+`)

// compareCells bounds the cost of a comparison: the product of the numbers of words, without the
// common beginning and end.
const compareCells = 1 << 20

// Compare returns two versions of a text in pieces: runs of words that both have,
// in the same order, and runs that differ. The pieces of a version joined are the
// version. If two long texts have too little in common at their beginning and
// end, everything between counts as different.
func Compare(theirs, mine string) (inTheirs, inMine []Piece) {
	a, b := wordOf.FindAllString(theirs, -1), wordOf.FindAllString(mine, -1)
	start := alike(len(a), len(b), func(i int) bool { return a[i] == b[i] })
	end := alike(len(a)-start, len(b)-start, func(i int) bool { return a[len(a)-1-i] == b[len(b)-1-i] })
	middleA, middleB := a[start:len(a)-end], b[start:len(b)-end]
	differA, differB := longest(middleA, middleB).differing(middleA, middleB)
	return pieces(a, start, differA), pieces(b, start, differB)
}

// ValuesOf returns the values of fields as one text, for Compare. It leaves out hidden fields.
func ValuesOf(fields []Field) string {
	var b strings.Builder
	for _, f := range fields {
		if f = f.plain(); f.Type != "hidden" && f.Type != "password" {
			b.WriteString(f.Label + ": " + f.Value + "\n")
		}
	}
	return b.String()
}

// differing reports for each word of a and of b whether only one of them has it.
func (l lengths) differing(a, b []string) (ofA, ofB []bool) {
	ofA, ofB = make([]bool, len(a)), make([]bool, len(b))
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case l.same(a[i:], b[j:]):
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && l.dropFirst(a[i:], b[j:]):
			ofA[i] = true
			i++
		default:
			ofB[j] = true
			j++
		}
	}
	return ofA, ofB
}

// pieces joins neighboring words of the same kind. For words from start on,
// differ says which differ; all others are in both texts.
func pieces(words []string, start int, differ []bool) []Piece {
	differs := func(i int) bool { return i >= start && i < start+len(differ) && differ[i-start] }
	var all []Piece
	from := 0
	for i := range words {
		if i+1 == len(words) || differs(i+1) != differs(from) {
			all = append(all, Piece{strings.Join(words[from:i+1], ""), differs(from)})
			from = i + 1
		}
	}
	return all
}

// alike returns the number of leading numbers, from 0, that satisfy same, at most n and at most m.
func alike(n, m int, same func(int) bool) int {
	for i := range min(n, m) {
		if !same(i) {
			return i
		}
	}
	return min(n, m)
}

// A lengths holds the length of the longest common subsequence of the remaining texts, by the
// number of words remaining in each. It is nil if the texts are too long to compare.
type lengths [][]int32

func longest(a, b []string) lengths {
	if len(a)*len(b) > compareCells {
		return nil
	}
	table := make(lengths, len(a)+1)
	for i := range table {
		table[i] = make([]int32, len(b)+1)
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			if a[len(a)-i] == b[len(b)-j] {
				table[i][j] = table[i-1][j-1] + 1
			} else {
				table[i][j] = max(table[i-1][j], table[i][j-1])
			}
		}
	}
	return table
}

// same reports whether both remaining texts begin with the same word.
func (l lengths) same(a, b []string) bool {
	return l != nil && len(a) > 0 && len(b) > 0 && a[0] == b[0]
}

// dropFirst reports whether dropping the first word of a loses nothing in common.
func (l lengths) dropFirst(a, b []string) bool {
	return l == nil || l[len(a)-1][len(b)] >= l[len(a)][len(b)-1]
}
