package templates

import (
	"regexp"
	"strings"
)

// A word includes the blanks around it, so the joined words are the text.
var wordOf = regexp.MustCompile(`\s*\S+\s*|\s+`)

// compareCells bounds the product of the numbers of words to compare.
const compareCells = 1 << 20

// Compare returns two versions of a text in pieces: runs of words that both have, in the same
// order, and runs that differ. Long texts with little in common differ as a whole.
func Compare(theirs, mine string) (inTheirs, inMine []Piece) {
	for _, c := range Changed(theirs, mine) {
		inTheirs = addPiece(inTheirs, Piece{c.Before, c.Before != c.After})
		inMine = addPiece(inMine, Piece{c.After, c.Before != c.After})
	}
	return inTheirs, inMine
}

func addPiece(all []Piece, p Piece) []Piece {
	if n := len(all); n > 0 && all[n-1].Differs == p.Differs {
		all[n-1].Text += p.Text
	} else if p.Text != "" {
		all = append(all, p)
	}
	return all
}

// ValuesOf returns the values of the visible fields as one text, for Compare.
func ValuesOf(fields []Field) string {
	var b strings.Builder
	for _, f := range fields {
		if f = f.plain(); f.Type != "hidden" && f.Type != "password" {
			b.WriteString(f.Label + ": " + f.Value + "\n")
		}
	}
	return b.String()
}

func alike(n, m int, same func(int) bool) int {
	for i := range min(n, m) {
		if !same(i) {
			return i
		}
	}
	return min(n, m)
}

// lengths has the length of the longest common subsequence by the number of words that remain in
// each text. It is nil if these are too long.
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

func (l lengths) same(a, b []string) bool {
	return l != nil && len(a) > 0 && len(b) > 0 && a[0] == b[0]
}

func (l lengths) dropFirst(a, b []string) bool {
	return l == nil || l[len(a)-1][len(b)] >= l[len(a)][len(b)-1]
}
