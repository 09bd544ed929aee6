package codegen

import (
	"cmp"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
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

// comparePlaces orders places by file, line and column.
func comparePlaces(a, b token.Position) int {
	return cmp.Or(strings.Compare(a.Filename, b.Filename), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// A reporter collects problems and turns places of a file set into places as
// seen from the working directory.
type reporter struct {
	fset     *token.FileSet
	dir      string
	problems Problems
}

// err returns the problems as an error, nil if there are none.
func (r *reporter) err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return comparePlaces(a.Pos, b.Pos) })
	return slices.Compact(r.problems)
}

// at reports a problem at pos.
func (r *reporter) at(pos token.Pos, format string, args ...any) {
	r.report(r.fset.Position(pos), format, args...)
}

// in reports a problem of a whole file.
func (r *reporter) in(file, format string, args ...any) {
	r.report(token.Position{Filename: file}, format, args...)
}

// line reports a problem at a line of a file that is not Go.
func (r *reporter) line(file string, line int, format string, args ...any) {
	r.report(token.Position{Filename: file, Line: line, Column: 1}, format, args...)
}

// report reports a problem at place.
func (r *reporter) report(place token.Position, format string, args ...any) {
	place.Filename = shorten(r.dir, place.Filename)
	r.problems = append(r.problems, Problem{place, fmt.Sprintf(format, args...)})
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
