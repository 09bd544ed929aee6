package load

import (
	"cmp"
	"go/token"
	"strings"
	"unicode/utf8"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/problem"
	"github.com/ringtree/ringtree/codegen/internal/tag"
)

// A package that declares one of these names of Go changes its meaning in generated code.
var predeclared = []string{"any", "bool", "byte", "error", "false", "int64", "len", "nil", "string", "true"}

// nameTable maps top-level names to their owners, as a message continues after "but".
type nameTable map[string]string

// It reports names that are taken.
func (s *Source) nameDrafts(r *problem.Reporter) {
	t := nameTable{}
	for name, pos := range s.Declared() {
		t[name] = r.Place(pos).String() + " declares it"
	}
	if len(s.Drafts) > 0 {
		pos := s.Drafts[0].Spec.Pos()
		t.claim(r, pos, "Models", "all models of the package", "rename that")
		t.claim(r, pos, "New", "what makes the Models", "rename that")
		for _, name := range predeclared {
			t.claim(r, pos, name, "Go's own", "rename that")
		}
	}
	for _, d := range s.Drafts {
		d.Names = d.ownNames(r)
		t.claim(r, d.Spec.Pos(), d.Names.Collection, "the "+d.Names.Model+" records", "say `kv:\"model,plural=...\"` on a field _ struct{}")
		t.claim(r, d.Spec.Pos(), "New"+d.Names.Collection, "what makes the "+d.Names.Collection, "say `kv:\"model,plural=...\"` on a field _ struct{}")
	}
	for _, d := range s.Drafts {
		d.nameID(r, t)
		d.nameGroups(r, t)
	}
	s.distinctModels(r)
}

func (t nameTable) claim(r *problem.Reporter, pos token.Pos, name, purpose, remedy string) {
	if owner, taken := t[name]; taken {
		r.At(pos, "kvgen writes %s for %s, but %s: %s", name, purpose, owner, remedy)
		return
	}
	t[name] = "also for " + purpose
}

func (d *Draft) ownNames(r *problem.Reporter) names {
	var c tag.Clause
	for _, word := range []string{"events", "model"} {
		if t := d.TagOf(word); t != nil {
			c, _ = t.clause(word)
			break
		}
	}
	n := names{Model: cmp.Or(c.Get("name"), english.Capital(d.Name))}
	if !token.IsExported(n.Model) {
		r.At(d.Spec.Pos(), "no exported name can be made of %s: say `kv:\"model,name=...\"` on a field _ struct{}", d.Name)
	}
	n.Stored = cmp.Or(c.Get("was"), n.Model)
	n.Collection = cmp.Or(c.Get("plural"), plural(n.Model))
	if n.Collection == "All" {
		r.At(d.Spec.Pos(), "%s would be the field All of Models, which has a method All: say another plural=", n.Model)
	}
	return n
}

func (d *Draft) nameID(r *problem.Reporter, t nameTable) {
	var parts []*Tagged
	for _, t := range d.Tags {
		if _, ok := t.clause("id"); ok {
			parts = append(parts, t)
		}
	}
	if len(parts) < 2 {
		return
	}
	for _, part := range parts {
		if c, _ := part.clause("id"); c.Has("seq") {
			r.At(part.Text.Pos(c.Offset), "%s has an id of several fields, so none of them can be seq: numbers are given to single ids", d.Names.Model)
		}
	}
	name := d.Names.Model + "ID"
	t.claim(r, d.Spec.Pos(), name, "the id of a "+d.Names.Model, "rename that, or say `kv:\"model,name=...\"` on a field _ struct{}")
	d.keys = append(d.keys, &KeyDecl{name, group{}, "the id of " + english.Article(d.Names.Model), parts})
}

// The model's name comes before the group's if that is taken.
func (d *Draft) nameGroups(r *problem.Reporter, t nameTable) {
	var groups []group
	members := map[group][]*Tagged{}
	for _, tagged := range d.Tags {
		for _, c := range tagged.Clauses {
			g := groupOf(c)
			if g != (group{}) && members[g] == nil {
				groups = append(groups, g)
			}
			members[g] = append(members[g], tagged)
		}
	}
	for _, g := range groups {
		name := g.name
		if _, taken := t[name]; taken {
			name = d.Names.Model + name
		}
		about := "unique to one " + d.Names.Model
		switch g.word {
		case "list":
			about = "what the " + d.Names.Collection + " of a list have in common"
		case "group":
			about = "what " + d.Names.Collection + " have in common"
		}
		t.claim(r, d.Spec.Pos(), name, "the values of the "+g.word+" group "+g.name, "take another group name")
		d.keys = append(d.keys, &KeyDecl{name, g, about, members[g]})
	}
}

func (s *Source) distinctModels(r *problem.Reporter) {
	named, stored := map[string]*Draft{}, map[string]*Draft{}
	for _, d := range s.Drafts {
		if other := named[d.Names.Model]; other != nil {
			r.At(d.Spec.Pos(), "two models are called %s; the other is at %s: say another name= in one of them", d.Names.Model, r.Place(other.Spec.Pos()))
		} else if other := stored[d.Names.Stored]; other != nil {
			r.At(d.Spec.Pos(), "two models are stored as %s; the other is at %s: say another name= or was= in one of them", d.Names.Stored, r.Place(other.Spec.Pos()))
		}
		named[d.Names.Model], stored[d.Names.Stored] = d, d
	}
}

func plural(name string) string {
	last, size := utf8.DecodeLastRuneInString(name)
	rest := name[:len(name)-size]
	before, _ := utf8.DecodeLastRuneInString(rest)
	switch {
	case last == 'y' && rest != "" && !strings.ContainsRune("aeiouAEIOU", before):
		return rest + "ies"
	case strings.ContainsRune("sxz", last), strings.HasSuffix(name, "ch"), strings.HasSuffix(name, "sh"):
		return name + "es"
	}
	return name + "s"
}
