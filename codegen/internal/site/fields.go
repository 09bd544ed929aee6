package site

import (
	"fmt"
	"go/types"
	"iter"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/stored"
)

func (s *pages) each() iter.Seq2[*types.Var, string] {
	return func(yield func(*types.Var, string) bool) {
		all := s.model.Type.Underlying().(*types.Struct)
		for i := range all.NumFields() {
			f := all.Field(i)
			if f.Exported() && !f.Embedded() && stored.Belongs(f, all.Tag(i)) && !yield(f, all.Tag(i)) {
				return
			}
		}
	}
}

func (s *pages) findPrivate() {
	for f, tag := range s.each() {
		if slices.Contains(s.model.Private, stored.NameOf(f, tag)) {
			s.private = append(s.private, f.Name())
		}
	}
}

func (s *pages) fields() error {
	for f := range s.each() {
		s.field(f)
	}
	if s.TitleExpr == "" {
		s.TitleExpr = s.IDText
	} else {
		s.TitleExpr = "cmp.Or(" + s.TitleExpr + ", " + s.IDText + ")"
	}
	if slices.Contains(s.private, s.When) {
		s.When = ""
	}
	for _, name := range s.chosen {
		if !slices.Contains(s.known, name) {
			return fmt.Errorf("a form cannot ask for %s of %s; %s", name, s.Type, english.Known(name, s.known))
		}
	}
	return nil
}

func (s *pages) field(f *types.Var) {
	name, value, kind := f.Name(), s.Var+"."+f.Name(), kindOf(f.Type())
	shown := field{Form: strings.ToLower(name), Label: english.Capital(snake(name, ' '))}
	switch {
	case name == s.ID:
		s.idField(shown, value, kind)
	case name == s.model.VersionField, name == s.model.Created, name == s.model.Updated:
	case slices.ContainsFunc(s.model.Counters, func(c *model.Counter) bool { return c.Field == name }):
		s.Facts = append(s.Facts, fact{shown.Label, digits(f.Type(), value)})
		if slices.Contains([]string{"Views", "Visits", "Hits", "Reads"}, name) {
			s.Hits = name
		}
	case name == s.Author:
		s.AuthorText, s.AuthorUser = as("string", f.Type(), value), s.typed(f.Type(), "user")
		s.AuthorShown = !slices.Contains(s.private, name)
	case kind == moment && name == "Trashed":
		s.Trash = name
	case slices.Contains(s.private, name):
		s.hidden = append(s.hidden, name+" (private)")
	default:
		s.ask(shown, name, value, f.Type())
	}
}

// idField adds the id to the form, and to the page if users choose it.
func (s *pages) idField(shown field, value string, kind kind) {
	if kind != text {
		return
	}
	shown.Of = "templates.Key(&" + value + ")"
	if s.IDField == "" {
		shown.Label = ""
	} else {
		shown.Extra = "Required: true, "
		s.Facts = append(s.Facts, fact{shown.Label, s.IDText})
	}
	s.Fields = append(s.Fields, shown)
}

func (s *pages) ask(shown field, name, value string, t types.Type) {
	show := ""
	switch kindOf(t) {
	case text:
		shown.Of, show = "Line", as("string", t, value)
		switch {
		case slices.Contains([]string{"Body", "Text", "Content", "About", "Description", "Notes"}, name):
			shown.Of, shown.Extra = "Text", "Writing: true, "
			s.Areas, show = append(s.Areas, show), ""
		case s.TitleExpr == "" && slices.Contains([]string{"Title", "Name", "Subject"}, name):
			s.TitleExpr, show = show, ""
		}
	case texts:
		shown.Of, shown.Extra = "Words", `Hint: "With commas between them.", `
	case yes:
		shown.Of = "Check"
	case whole:
		shown.Of, show = "Number", digits(t, value)
	case real:
		shown.Of, show = "Decimal", "strconv.FormatFloat("+as("float64", t, value)+", 'f', -1, 64)"
	case moment:
		shown.Of, shown.Extra, show = "Time", `Hint: "In UTC.", `, "templates.TimeValue("+value+")"
	default:
		s.hidden = append(s.hidden, name+" ("+s.name(t)+")")
		return
	}
	shown.Of = "templates." + shown.Of + "(&" + value + ")"
	if show != "" {
		s.Facts = append(s.Facts, fact{shown.Label, show})
	}
	s.known = append(s.known, name)
	if s.chosen == nil || slices.Contains(s.chosen, name) {
		s.Fields = append(s.Fields, shown)
	}
}

type kind int

const (
	other kind = iota
	text
	texts
	yes
	whole
	real
	moment
)

func kindOf(t types.Type) kind {
	if stored.IsTime(t) {
		return moment
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		switch {
		case u.Kind() == types.String:
			return text
		case u.Kind() == types.Bool:
			return yes
		case u.Info()&types.IsInteger != 0:
			return whole
		case u.Info()&types.IsFloat != 0:
			return real
		}
	case *types.Slice:
		if types.Identical(t, types.NewSlice(types.Typ[types.String])) {
			return texts
		}
	}
	return other
}
