package load

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/tag"
)

// A Draft is a model as its source says it, before types are known.
type Draft struct {
	Name  string // of the struct
	File  *sourceFile
	Spec  *ast.TypeSpec
	Tags  []*Tagged
	keys  []*KeyDecl
	Names names
}

// A sourceFile is one file of a source.
type sourceFile struct {
	Path   string
	Syntax *ast.File
}

// names are what one model is called.
type names struct {
	Model      string // in texts: Page
	Stored     string // in keys: Page, or what was= says
	Collection string // the generated type: Pages
}

// A Tagged is a field or a method that carries a kv tag.
type Tagged struct {
	Name    string
	Site    tag.Site
	Pos     token.Pos
	typ     ast.Expr // of the field, or of the method's result
	Text    tag.Text
	Clauses []tag.Clause
	faulty  bool // the text has more than the clauses
}

// makesModel reports whether t makes its struct a model. A lone - does not: it may
// stand in any struct that is part of a record.
func (t *Tagged) makesModel() bool { return strings.TrimSpace(t.Text.Text) != "-" }

// A KeyDecl is a key type that kvgen writes: the id of a model whose id has
// several fields, or the value of a group.
type KeyDecl struct {
	Name  string
	group Group  // the zero one for an id
	About string // its doc comment
	Parts []*Tagged
}

// A Group is fields that make one index together: the word and name they share.
type Group struct{ word, name string }

// clause returns the clause of t with the word, and whether there is one.
func (t *Tagged) clause(word string) (tag.Clause, bool) {
	i := slices.IndexFunc(t.Clauses, func(c tag.Clause) bool { return c.Word == word })
	if i < 0 {
		return tag.Clause{}, false
	}
	return t.Clauses[i], true
}

// TagOf returns the first tag of d with the word, nil if there is none.
func (d *Draft) TagOf(word string) *Tagged {
	for _, t := range d.Tags {
		if _, ok := t.clause(word); ok {
			return t
		}
	}
	return nil
}

// Faulty reports whether a tag of d has a fault.
func (d *Draft) Faulty() bool {
	return slices.ContainsFunc(d.Tags, func(t *Tagged) bool { return t.faulty })
}

// GroupOf returns the group that c names, false if it names none.
func GroupOf(c tag.Clause) (Group, bool) {
	if (c.Word == "unique" || c.Word == "list") && c.Value != "" {
		return Group{c.Word, c.Value}, true
	}
	return Group{}, false
}

// KeyOf returns the key type of g, or of the id if g is the zero group.
func (d *Draft) KeyOf(g Group) *KeyDecl {
	i := slices.IndexFunc(d.keys, func(k *KeyDecl) bool { return k.group == g })
	return d.keys[i]
}
