package codegen

import (
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"sort"
	"strings"
)

// A Problem is one complaint about what kvgen was given. Its text is
// file:line:col: message, with the file as seen from the working directory.
type Problem struct {
	Pos     token.Position // the file alone where a line would say nothing
	Message string
}

// Error returns the place and the message.
func (p Problem) Error() string {
	if p.Pos.Filename == "" {
		return p.Message
	}
	return p.Pos.String() + ": " + p.Message
}

// Problems are the complaints of one run, one a line, in the order of their places.
type Problems []Problem

// Error returns the problems, one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// err returns ps as an error, nil if there are none.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	sort.SliceStable(ps, func(i, j int) bool { return before(ps[i].Pos, ps[j].Pos) })
	return slices.Compact(ps)
}

// before orders places by file, line and column.
func before(a, b token.Position) bool {
	if a.Filename != b.Filename {
		return a.Filename < b.Filename
	}
	if a.Line != b.Line {
		return a.Line < b.Line
	}
	return a.Column < b.Column
}

// A reporter collects problems and turns places of a file set into places as
// seen from the working directory.
type reporter struct {
	fset     *token.FileSet
	dir      string
	problems Problems
}

// at reports a problem at pos.
func (r *reporter) at(pos token.Pos, format string, args ...any) {
	r.problems = append(r.problems, Problem{r.place(pos), fmt.Sprintf(format, args...)})
}

// in reports a problem of a whole file.
func (r *reporter) in(file, format string, args ...any) {
	r.problems = append(r.problems, Problem{token.Position{Filename: shorten(r.dir, file)}, fmt.Sprintf(format, args...)})
}

// place returns pos as seen from the working directory.
func (r *reporter) place(pos token.Pos) token.Position {
	p := r.fset.Position(pos)
	p.Filename = shorten(r.dir, p.Filename)
	return p
}

// shorten returns file relative to dir where that is the shorter name.
func shorten(dir, file string) string {
	rel, err := filepath.Rel(dir, file)
	if err != nil || len(rel) >= len(file) {
		return file
	}
	return rel
}

// list returns words as a person would list them: a, b and c.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// known returns the known words for a message, and the one that wrong was
// probably meant to be.
func known(wrong string, words []string) string {
	text := "known: " + strings.Join(words, ", ")
	if wrong == "" {
		return text
	}
	if meant := nearest(wrong, words); meant != "" {
		return fmt.Sprintf("did you mean %q? %s", meant, text)
	}
	return text
}

// nearest returns the word closest to wrong, "" if none is close enough to be
// a slip of the fingers.
func nearest(wrong string, words []string) string {
	best, least := "", max(1, len(wrong)/3)+1
	for _, w := range words {
		if d := distance(strings.ToLower(wrong), strings.ToLower(w)); d < least {
			best, least = w, d
		}
	}
	return best
}

// distance returns how many letters have to be changed, added, dropped or
// swapped with their neighbour to make b out of a.
func distance(a, b string) int {
	var last, row []int
	next := make([]int, len(b)+1)
	for j := range next {
		next[j] = j
	}
	for i := range len(a) {
		last, row, next = row, next, make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], last[j-1]+1)
			}
		}
	}
	return next[len(b)]
}
