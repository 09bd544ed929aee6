// Package model describes data classes: resolve makes them of tagged structs, check tests
// them, and emit prints them.
package model

import (
	"cmp"
	"go/token"
	"go/types"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// A Package is a Go package with models, ready to be written.
type Package struct {
	Name, Path, Dir string
	Module          string // the directory of the module it is part of
	Types           *types.Package
	Declared        []string // its handwritten top-level names
	Models          []*Model // sorted by name
}

// Has reports whether t is the type of a model of p.
func (p *Package) Has(t *types.TypeName) bool {
	return slices.ContainsFunc(p.Models, func(m *Model) bool { return m.Type.Obj() == t })
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
	Events     *Events    // of a model without an id; nil of one with an id

	Sequential bool // ids are numbers that are given in order
	Total      bool // how many records there are is kept
	History    int  // how many bodies are kept; 0: none
	Forget     bool // a deletion takes the history along
	Relaxed    bool // a change need not wait for the disk
	Counters   []*Counter
	Children   []*Index // lists of records that are deleted with one of the model
	Gone       Gone     // what it once had, as kvgen.lock says

	Private []string // the stored names, older ones too, of the fields that tools mask

	// The fields that the library fills in, "" where there is none.
	VersionField, Created, Updated, Expires string

	Pos     token.Pos
	TotalAt token.Pos
	Methods map[string]types.Type // what each method returns that generated code calls
}

// TotalName is the stored name of what keeps the number of records. No index that a tag
// names is called so.
const TotalName = "count"

// Gone is what a model once had and may still be stored, by stored names, sorted.
type Gone struct {
	Indexes, Counters []string
	History           bool
}

// A Key is a key type that kvgen writes.
type Key struct {
	Name, About string
	Parts       []Part
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

// Label returns the name of the part for a reader.
func (p Part) Label() string { return strings.TrimPrefix(p.Expr(""), ".") }

// A Condition is the bool field or method that says which records an index holds.
type Condition struct {
	Name   string
	Method bool
}

// Expr returns how the condition is read of the record v.
func (c *Condition) Expr(v string) string { return Part{Name: c.Name, Method: c.Method}.Expr(v) }

// An Index is one index over the records of a model.
type Index struct {
	Model  *Model
	Word   string // of the tag: unique
	Group  string // of the fields that share it, "" of a single one
	Name   string // BySlug
	Stored string // the name in keys: BySlug, or what was= says
	Def    string // what its entries are; when it changes, they have to be rebuilt
	Parts  []Part // what its value is made of
	Value  types.Type
	Many   bool       // a record has a slice of values
	Max    int        // how many values a record may have; 0: the library decides
	If     *Condition // which records it holds; nil: the model's condition

	Field   string    // that a form shows a taken value with; "": its own
	Hot     int       // how many segments a list starts with at least; 0: the library decides
	Parent  *Model    // whose deletion takes the records of a list along; nil: none does
	Values  bool      // a list also has its values, with their counts
	Numbers []*Number // that follow a list
	Ring    *Ring     // of a timeline
	Ranking *Ranking  // of a ranking

	Pos token.Pos
}

// ValuesStored returns the name in keys of the values of the list x, and of what counts them
// if no counter does.
func (x *Index) ValuesStored() string { return x.Stored + valuesSuffix }

// ValuesOf returns the name in keys of the list whose values are stored under name, and
// whether name is that of values.
func ValuesOf(name string) (list string, ok bool) { return strings.CutSuffix(name, valuesSuffix) }

const valuesSuffix = ".Values"

// Counted reports whether a counter is the number of all records with a value of the list x.
func (x *Index) Counted() bool {
	return slices.ContainsFunc(x.Numbers, func(n *Number) bool { return n.Of == nil && n.If == nil })
}

// A Number makes a counter follow a list.
type Number struct {
	Counter *Counter
	Of      *Part      // what a record adds; nil: 1
	If      *Condition // which records add; nil: all
	Pos     token.Pos
}

// Clause returns the word of n with its value, as a tag says them.
func (n *Number) Clause() string {
	word := "count"
	if n.Of != nil {
		word = "sum"
	}
	return word + "=" + n.Counter.Model.Name + "." + n.Counter.Field
}

// Summand returns what a record adds, for a reader, "" if that is 1.
func (n *Number) Summand() string {
	what := ""
	if n.Of != nil {
		what = n.Of.Label()
	}
	if n.If != nil {
		what = strings.TrimSpace(what + " if " + n.If.Name)
	}
	return what
}

// Several reports whether a record may have several values in x.
func (x *Index) Several() bool {
	switch {
	case x.Ring != nil:
		return x.Ring.By != nil && x.Ring.By.Many
	case x.Ranking != nil:
		return x.Ranking.By != nil && x.Ranking.By.Many
	}
	return x.Many
}

// Condition returns which records x holds, nil if it holds all.
func (x *Index) Condition() *Condition {
	return cmp.Or(x.If, x.Model.If)
}

// Followed returns the counters that the ranking x follows: the one it ranks by
// or, if it ranks by a method, those that of= names, or else all counters of the
// model, since the method may use
// any. If there are none, the score depends on the record alone, as a text does always.
func (x *Index) Followed() []*Counter {
	if x.Ranking.IsText() {
		return nil
	}
	var found []*Counter
	for _, c := range x.Model.Counters {
		reads := x.Parts[0].Method && (x.Ranking.Of == nil || slices.Contains(x.Ranking.Of, c.Field))
		if reads || x.Parts[0].Name == c.Field {
			found = append(found, c)
		}
	}
	return found
}

// A By says whose rings or boards an index has: those of each value of a field, a method
// or a group of fields.
type By struct {
	Group string // of the fields, "" of a single one
	Parts []Part
	Value types.Type
	Many  bool // a record has a slice of values
}

// Name returns what the values are called.
func (b *By) Name() string { return cmp.Or(b.Group, b.Parts[0].Name) }

// A Ring is what only a timeline has: its owner and its shape.
type Ring struct {
	By     *By // nil: there is one for all records
	Shape  RingShape
	Shards int
}

// A RingShape is how many places a ring shows and how many of them share a key.
type RingShape struct{ Size, Segment int }

// Stored returns how many places the ring has: the next power of two.
func (s RingShape) Stored() int { return 1 << bits.Len(uint(s.Size-1)) }

// A Ranking is what only a ranking has: its owner, its periods and its order.
type Ranking struct {
	By     *By    // nil: there is one for all records
	Per    string // hour, day, week or month; "": it is kept forever
	Keep   int    // periods
	Low    bool
	Ties   string   // newest, oldest, shared or dense; "": records with equal scores stand in no order
	Kind   string   // of its stored scores: int, uint, float, decimal N, time, words, words LOCALE
	Locale string   // in whose order texts stand; "": that of no language
	Scale  int      // the decimals that count; -1: scores are as they are
	Counts bool     // it ranks by a counter
	Of     []string // the fields of the counters that a method reads; nil: any
}

// ByTime reports whether records with equal scores stand by when they were made.
func (r *Ranking) ByTime() bool { return r.Ties == "newest" || r.Ties == "oldest" }

// IsText reports whether r is by a text; a nil one is not.
func (r *Ranking) IsText() bool { return r != nil && strings.HasPrefix(r.Kind, textKind) }

const textKind = "words"

// TextKind returns the kind of texts in the order of a locale.
func TextKind(locale string) string { return strings.TrimSpace(textKind + " " + locale) }

// A Counter is a number that is kept beside each record of a model.
type Counter struct {
	Model  *Model
	Name   string // of its handle
	Stored string // the name in keys
	Field  string // that shows it in a record
	Type   types.Type
	Batch  string // when rankings follow it
	List   *Index // that it follows; nil: it is plain
	Sum    bool   // it adds up what the records in List say

	Pos token.Pos
}

// Followers returns the rankings that follow c.
func (c *Counter) Followers() []*Index {
	var found []*Index
	for _, x := range c.Model.Indexes {
		if x.Ranking != nil && slices.Contains(x.Followed(), c) {
			found = append(found, x)
		}
	}
	return found
}

// Events is what a model without an id is: values kept in the rings of their owners.
type Events struct {
	By     Part
	Once   *Part // nil: every one counts
	Keep   int
	Layout string
	TTL    time.Duration
}
