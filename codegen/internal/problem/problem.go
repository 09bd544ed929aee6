package problem

import (
	"cmp"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// A problem is one complaint about what kvgen was given. Its text is
// file:line:col: message, with the file as seen from the working directory.
type problem struct {
	Pos     token.Position // the file alone where a line would say nothing
	Message string
}

// Error returns the place and the message.
func (p problem) Error() string {
	if p.Pos.Filename == "" {
		return p.Message
	}
	return p.Pos.String() + ": " + p.Message
}

// problems are the complaints of one run, one a line, in the order of their places.
type problems []problem

// Error returns the problems, one a line.
func (ps problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// comparePlaces orders places by file, line and column.
func comparePlaces(a, b token.Position) int {
	return cmp.Or(strings.Compare(a.Filename, b.Filename), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// A Reporter collects problems and turns places of a file set into places as
// seen from the working directory.
type Reporter struct {
	Fset     *token.FileSet
	Dir      string
	problems problems
}

// Err returns the problems as an error, nil if there are none.
func (r *Reporter) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b problem) int { return comparePlaces(a.Pos, b.Pos) })
	return slices.Compact(r.problems)
}

// At reports a problem at pos.
func (r *Reporter) At(pos token.Pos, format string, args ...any) {
	r.Report(r.Fset.Position(pos), format, args...)
}

// In reports a problem of a whole file.
func (r *Reporter) In(file, format string, args ...any) {
	r.Report(token.Position{Filename: file}, format, args...)
}

// Line reports a problem at a line of a file that is not Go.
func (r *Reporter) Line(file string, line int, format string, args ...any) {
	r.Report(token.Position{Filename: file, Line: line, Column: 1}, format, args...)
}

// Report reports a problem at place.
func (r *Reporter) Report(place token.Position, format string, args ...any) {
	place.Filename = Shorten(r.Dir, place.Filename)
	r.problems = append(r.problems, problem{place, fmt.Sprintf(format, args...)})
}

// Place returns pos as seen from the working directory.
func (r *Reporter) Place(pos token.Pos) token.Position {
	p := r.Fset.Position(pos)
	p.Filename = Shorten(r.Dir, p.Filename)
	return p
}

// Shorten returns file relative to dir where that is the shorter name.
func Shorten(dir, file string) string {
	rel, err := filepath.Rel(dir, file)
	if err != nil || len(rel) >= len(file) {
		return file
	}
	return rel
}
