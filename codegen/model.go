package codegen

import (
	"go/token"
	"go/types"
	"strings"
)

// A Package is a Go package with models, ready to be written.
type Package struct {
	Name, Path, Dir string
	Models          []*Model // sorted by name
	source          *source
}

// A Model is a tagged struct: what its records are and which indexes are kept over them.
type Model struct {
	Name       string // Page
	Stored     string // the name in keys: Page, or what was= says
	Collection string // the generated type: Pages
	Version    int
	Type       *types.Named
	File       string // that declares the struct
	ID         []Part // one, or several for an edge
	IDType     types.Type
	If         *Condition // of the indexes without their own
	Indexes    []*Index   // in source order
	Keys       []Key      // the key types to write
	Events     *Events    // what a model without id keeps in rings; nil of a model with one

	Sequential bool // ids are numbers that are given in order
	History    int  // how many bodies are kept; 0: none
	Counters   []*Counter
	counts     []pendingCount

	// The fields that the library fills in, "" where there is none.
	VersionField, Created, Updated, Expires string

	pos    token.Pos
	checks []string // the methods that the guard has to hold, some twice
}

// A Key is a key type that kvgen writes.
type Key struct {
	Name, About string
	Parts       []Part
}

// An Index is one index over the records of a model.
type Index struct {
	Model  *Model
	Clause Clause
	Name   string // BySlug
	Stored string // the name in keys: BySlug, or what was= says
	Parts  []Part // what its value is made of
	Value  types.Type
	Many   bool     // a record has a slice of values
	Count  *Counter // that follows the list; nil if none does
	If     *Condition

	Ring    *Ring    // of a timeline
	Ranking *Ranking // of a ranking

	pos token.Pos
}

// A Counter is a number that is kept beside each record of a model.
type Counter struct {
	Model  *Model
	Name   string // of its handle
	Stored string // the name in keys
	Field  string // that shows it in a record
	Type   types.Type
	Batch  string // when rankings follow it

	pos token.Pos
}

// A Part is a field or a method that a key is made of.
type Part struct {
	Name   string
	Stored string // the name of the field in stored records; of a method, Name()
	Type   types.Type
	Method bool
}

// Expr returns how the part of the record v is read.
func (p Part) Expr(v string) string {
	if p.Method {
		return v + "." + p.Name + "()"
	}
	return v + "." + p.Name
}

// Label returns how people call the part.
func (p Part) Label() string { return strings.TrimPrefix(p.Expr(""), ".") }

// labels returns how people call the parts.
func labels(parts []Part) []string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Label()
	}
	return names
}

// A Condition is the bool field or method that says which records an index holds.
type Condition struct {
	Name   string
	Method bool
}
