package site

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/english"
)

// Access decides which users may change records, and which fields.
type Access struct {
	Owner    string // the field with the name of the only permitted user; "": Author or Owner
	Anyone   bool
	ReadOnly bool
	Fields   []string // of forms; nil: all possible ones
}

var owners = []string{"Author", "Owner"}

func (s *pages) access(a Access) error {
	if name := s.signsIn(); name != "" {
		return fmt.Errorf("%s has the field %s: pages that change it would give accounts away. Write its pages by hand", s.Type, name)
	}
	texts := s.texts()
	s.Author = a.Owner
	for _, name := range owners {
		if s.Author == "" && slices.Contains(texts, name) {
			s.Author = name
		}
	}
	s.Forms, s.Owned = !a.ReadOnly, !a.Anyone && !a.ReadOnly
	switch {
	case s.Owned && s.Author == "":
		return fmt.Errorf("%s has no field Author or Owner to name the user allowed to change %s. Choose one of\n"+
			"\t-owner FIELD\tthe user who made it, whose name is in FIELD\n"+
			"\t-anyone\t\tevery user, as in a wiki\n"+
			"\t-readonly\tnobody: there are no forms", s.Type, s.A)
	case s.Author != "" && !slices.Contains(texts, s.Author):
		return fmt.Errorf("-owner %s: want a field with a name; %s", s.Author, english.Known(s.Author, texts))
	}
	return nil
}

// texts are the fields that may hold a user's name.
func (s *pages) texts() []string {
	var all []string
	for f := range s.each() {
		if f.Name() != s.ID && kindOf(f.Type()) == text {
			all = append(all, f.Name())
		}
	}
	return all
}

func (s *pages) signsIn() string {
	names := slices.Clone(s.model.Private)
	for f := range s.each() {
		names = append(names, f.Name())
	}
	at := slices.IndexFunc(names, func(name string) bool { return strings.Contains(strings.ToLower(name), "password") })
	if at < 0 {
		return ""
	}
	return names[at]
}

func (s *pages) report() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	switch {
	case !s.Forms:
		line("Nobody can change %s: there are no forms.", s.Words)
	case s.Owned:
		line("A user can make %s, and change and delete those with their name as %s.", s.Words, s.Author)
	default:
		line("Every user can make, change and delete %s.", s.Words)
	}
	if s.Forms {
		line("Forms set %s.", english.List(s.settable()))
	}
	if s.Forms && len(s.hidden) > 0 {
		line("Forms do not set %s.", english.List(s.hidden))
	}
	if len(s.Left) > 0 {
		line("No page shows %s.", english.List(s.Left))
	}
	return b.String()
}

func (s *pages) settable() []string {
	var all []string
	if s.IDField != "" {
		all = append(all, s.ID)
	}
	for _, name := range s.known {
		if s.chosen == nil || slices.Contains(s.chosen, name) {
			all = append(all, name)
		}
	}
	if len(all) == 0 {
		return []string{"nothing"}
	}
	return all
}
