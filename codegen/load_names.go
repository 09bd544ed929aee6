package codegen

import (
	"cmp"
	"go/token"
	"strings"
	"unicode/utf8"
)

// A nameTable says who holds each name at the top of a package.
type nameTable struct {
	declared  map[string]token.Pos // by people
	generated map[string]string    // by kvgen, and for what
}

// nameDrafts gives the drafts of s and their key types their names and reports
// names that are taken.
func (s *source) nameDrafts(r *reporter) {
	t := nameTable{declared: s.declared(), generated: map[string]string{}}
	if len(s.drafts) > 0 {
		pos := s.drafts[0].spec.Pos()
		t.claim(r, pos, "Models", "all models of the package", "rename that")
		t.claim(r, pos, "New", "what makes the Models", "rename that")
	}
	for _, d := range s.drafts {
		d.names = d.ownNames(r)
		t.claim(r, d.spec.Pos(), d.names.collection, "the "+d.names.model+" records", "say `kv:\"model,plural=...\"` on a field _ struct{}")
		t.claim(r, d.spec.Pos(), "New"+d.names.collection, "what makes the "+d.names.collection, "say `kv:\"model,plural=...\"` on a field _ struct{}")
	}
	for _, d := range s.drafts {
		d.nameID(r, t)
		d.nameGroups(r, t)
	}
	s.distinctModels(r)
}

// claim takes name for what kvgen writes, or reports who has it.
func (t nameTable) claim(r *reporter, pos token.Pos, name, purpose, remedy string) {
	if at, ok := t.declared[name]; ok {
		r.at(pos, "kvgen writes %s for %s, but %s declares it: %s", name, purpose, r.place(at), remedy)
	} else if other, ok := t.generated[name]; ok {
		r.at(pos, "kvgen writes %s for %s, but also for %s: %s", name, purpose, other, remedy)
	}
	t.generated[name] = purpose
}

// free reports whether nobody holds name.
func (t nameTable) free(name string) bool {
	_, declared := t.declared[name]
	_, generated := t.generated[name]
	return !declared && !generated
}

// ownNames returns what d is called, by its struct and its model clause.
func (d *draft) ownNames(r *reporter) names {
	var c Clause
	for _, word := range []string{"events", "model"} {
		if t := d.tagOf(word); t != nil {
			c, _ = t.clause(word)
			break
		}
	}
	n := names{model: cmp.Or(c.Get("name"), capital(d.name))}
	if !token.IsExported(n.model) {
		r.at(d.spec.Pos(), "no exported name can be made of %s: say `kv:\"model,name=...\"` on a field _ struct{}", d.name)
	}
	n.stored = cmp.Or(c.Get("was"), n.model)
	n.collection = cmp.Or(c.Get("plural"), plural(n.model))
	if n.collection == "All" {
		r.at(d.spec.Pos(), "%s would be the field All of Models, which has a method All: say another plural=", n.model)
	}
	return n
}

// nameID names the key type of d if its id has several fields.
func (d *draft) nameID(r *reporter, t nameTable) {
	var parts []*tagged
	for _, tag := range d.tags {
		if _, ok := tag.clause("id"); ok {
			parts = append(parts, tag)
		}
	}
	if len(parts) < 2 {
		return
	}
	for _, part := range parts {
		if c, _ := part.clause("id"); c.Has("seq") {
			r.at(part.text.pos(c.Offset), "%s has an id of several fields, so none of them can be seq: numbers are given to single ids", d.names.model)
		}
	}
	d.names.id = d.names.model + "ID"
	t.claim(r, d.spec.Pos(), d.names.id, "the id of a "+d.names.model, "rename that, or say `kv:\"model,name=...\"` on a field _ struct{}")
	d.keys = append(d.keys, &keyDecl{d.names.id, group{}, "the id of " + article(d.names.model), parts})
}

// nameGroups names the key types of the groups of d: By<Group>, with the model
// before it if that is taken.
func (d *draft) nameGroups(r *reporter, t nameTable) {
	for _, g := range d.groups() {
		name := "By" + g.name
		if !t.free(name) {
			name = d.names.model + name
		}
		about := "unique to one " + d.names.model
		if g.word == "list" {
			about = "what the " + d.names.collection + " of a list have in common"
		}
		t.claim(r, d.spec.Pos(), name, "the values of the "+g.word+" group "+g.name, "take another group name")
		d.keys = append(d.keys, &keyDecl{name, g, about, d.members(g)})
	}
}

// groups returns the groups of d in source order.
func (d *draft) groups() []group {
	var found []group
	seen := map[group]bool{{}: true}
	for _, t := range d.tags {
		for _, c := range t.clauses {
			if g := groupOf(c); !seen[g] {
				seen[g] = true
				found = append(found, g)
			}
		}
	}
	return found
}

// members returns what g is made of.
func (d *draft) members(g group) []*tagged {
	var found []*tagged
	for _, t := range d.tags {
		for _, c := range t.clauses {
			if groupOf(c) == g {
				found = append(found, t)
			}
		}
	}
	return found
}

// distinctModels reports models that have one name, or are stored under one.
func (s *source) distinctModels(r *reporter) {
	named, stored := map[string]*draft{}, map[string]*draft{}
	for _, d := range s.drafts {
		if other := named[d.names.model]; other != nil {
			r.at(d.spec.Pos(), "two models are called %s; the other is at %s: say another name= in one of them", d.names.model, r.place(other.spec.Pos()))
		} else if other := stored[d.names.stored]; other != nil {
			r.at(d.spec.Pos(), "two models are stored as %s; the other is at %s: say another name= or was= in one of them", d.names.stored, r.place(other.spec.Pos()))
		}
		named[d.names.model], stored[d.names.stored] = d, d
	}
}

// plural returns the name of several things called name.
func plural(name string) string {
	last, size := utf8.DecodeLastRuneInString(name)
	rest := name[:len(name)-size]
	switch {
	case last == 'y' && rest != "" && !strings.ContainsRune("aeiouAEIOU", lastRune(rest)):
		return rest + "ies"
	case strings.ContainsRune("sxz", last), strings.HasSuffix(name, "ch"), strings.HasSuffix(name, "sh"):
		return name + "es"
	}
	return name + "s"
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}
