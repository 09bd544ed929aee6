package codegen

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// A draft is a model as its source says it, before types are known.
type draft struct {
	name  string // of the struct
	file  *sourceFile
	spec  *ast.TypeSpec
	tags  []*tagged
	keys  []*keyDecl
	names names
}

// A sourceFile is one file of a source.
type sourceFile struct {
	path   string
	syntax *ast.File
}

// names are what one model is called.
type names struct {
	model      string // by people: Page
	stored     string // in keys: Page, or what was= says
	collection string // the generated type: Pages
	id         string // the generated key type, if its id has several fields: PageID
}

// A tagged is a field or a method that carries a kv tag.
type tagged struct {
	name    string
	site    Site
	pos     token.Pos
	typ     ast.Expr // of the field, or of the method's result
	text    tagText
	clauses []Clause
	faulty  bool // there is more in the text than the clauses
}

// makesModel reports whether t makes a model of its struct. A - does not: it may
// stand in any struct that is part of a record.
func (t *tagged) makesModel() bool { return strings.TrimSpace(t.text.text) != "-" }

// A keyDecl is a key type that kvgen writes: the id of a model whose id has
// several fields, or the value of a group.
type keyDecl struct {
	name  string
	group group  // the zero one of an id
	about string // its doc comment
	parts []*tagged
}

// group is the fields that make one index together: its word and its name.
type group struct{ word, name string }

// clause returns the clause of t with the word, and whether there is one.
func (t *tagged) clause(word string) (Clause, bool) {
	i := slices.IndexFunc(t.clauses, func(c Clause) bool { return c.Word == word })
	if i < 0 {
		return Clause{}, false
	}
	return t.clauses[i], true
}

// tagOf returns the first tag of d with the word, nil if there is none.
func (d *draft) tagOf(word string) *tagged {
	for _, t := range d.tags {
		if _, ok := t.clause(word); ok {
			return t
		}
	}
	return nil
}

// faulty reports whether a tag of d has a fault.
func (d *draft) faulty() bool {
	return slices.ContainsFunc(d.tags, func(t *tagged) bool { return t.faulty })
}

// groupOf returns the group that c names, the zero one if it names none.
func groupOf(c Clause) group {
	if (c.Word == "unique" || c.Word == "list") && c.Value != "" {
		return group{c.Word, c.Value}
	}
	return group{}
}

// keyOf returns the key type of g.
func (d *draft) keyOf(g group) *keyDecl {
	i := slices.IndexFunc(d.keys, func(k *keyDecl) bool { return k.group == g })
	return d.keys[i]
}
