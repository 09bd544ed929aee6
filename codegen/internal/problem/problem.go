// Package problem collects problems in the input of kvgen.
package problem

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

type problem struct {
	place   token.Position // only the file if a line would not help
	message string
}

// Reporter collects problems, with places relative to Dir.
type Reporter struct {
	Fset     *token.FileSet
	Dir      string
	problems []problem
}

// Err returns a line of file:line:col: message for each problem, by place, or nil.
func (r *Reporter) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(r.problems, func(a, b problem) int {
		p, q := a.place, b.place
		return cmp.Or(strings.Compare(p.Filename, q.Filename), p.Line-q.Line, p.Column-q.Column)
	})
	r.problems = slices.Compact(r.problems)
	var lines []string
	for _, p := range r.problems {
		text := p.message
		if p.place.Filename != "" {
			text = p.place.String() + ": " + text
		}
		lines = append(lines, text)
	}
	return errors.New(strings.Join(lines, "\n"))
}

func (r *Reporter) At(pos token.Pos, format string, args ...any) {
	r.Report(r.Fset.Position(pos), format, args...)
}

func (r *Reporter) In(file, format string, args ...any) {
	r.Report(token.Position{Filename: file}, format, args...)
}

// Line reports a problem in a file that is not Go.
func (r *Reporter) Line(file string, line int, format string, args ...any) {
	r.Report(token.Position{Filename: file, Line: line, Column: 1}, format, args...)
}

func (r *Reporter) Report(place token.Position, format string, args ...any) {
	place.Filename = Shorten(r.Dir, place.Filename)
	r.problems = append(r.problems, problem{place, fmt.Sprintf(format, args...)})
}

func (r *Reporter) Place(pos token.Pos) token.Position {
	p := r.Fset.Position(pos)
	p.Filename = Shorten(r.Dir, p.Filename)
	return p
}

func Shorten(dir, file string) string {
	rel, err := filepath.Rel(dir, file)
	if err != nil || len(rel) >= len(file) {
		return file
	}
	return rel
}
