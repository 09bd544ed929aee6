// Package model describes data classes: resolve builds them, check tests them, emit prints them.
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

type Package struct {
	Name, Path, Dir string
	Module          string
	Types           *types.Package
	Declared        []string
	Models          []*Model
}

func (p *Package) Has(t *types.TypeName) bool {
	return slices.ContainsFunc(p.Models, func(m *Model) bool { return m.Type.Obj() == t })
}

type Model struct {
	Name       string // such as Page
	Stored     string // the name in keys: Page, or the value of was=
	Collection string // such as Pages
	Version    int
	Type       *types.Named
	File       string
	ID         []Part // several for an edge
	IDType     types.Type
	If         *Condition // of the indexes without their own
	Indexes    []*Index
	Keys       []Key
	Events     *Events // for a model without an id

	Sequential bool // ids are numbers that are given in order
	Total      bool // the number of records is kept
	History    int  // number of bodies; 0: none
	Forget     bool // a deletion takes the history along
	Relaxed    bool // a change need not wait for the disk
	Counters   []*Counter
	Children   []*Index // lists of records that are deleted with one of the model
	Gone       Gone

	Private []string // stored names, including older ones, of masked fields

	// filled in by the library, or ""
	VersionField, Created, Updated, Expires string

	Pos     token.Pos
	TotalAt token.Pos
	Methods map[string]types.Type // the result types of methods that generated code calls
}

// TotalName is the stored name of the counter of records; no index has it.
const TotalName = "count"

// Gone lists former features that may still be stored, by stored names, sorted.
type Gone struct {
	Indexes, Counters []string
	History           bool
}

type Key struct {
	Name, About string
	Parts       []Part
}

type Part struct {
	Name   string
	Stored string // in stored records; for a method, Name()
	Type   types.Type
	Method bool
}

func (p Part) Expr(v string) string {
	if p.Method {
		return v + "." + p.Name + "()"
	}
	return v + "." + p.Name
}

func (p Part) Label() string { return strings.TrimPrefix(p.Expr(""), ".") }

func Labels(parts []Part) (all []string) {
	for _, p := range parts {
		all = append(all, p.Label())
	}
	return all
}

type Condition struct {
	Name   string
	Method bool
}

func (c *Condition) Expr(v string) string { return Part{Name: c.Name, Method: c.Method}.Expr(v) }

type Index struct {
	Model  *Model
	Word   string // of the tag: unique
	Group  string
	Name   string // such as BySlug
	Stored string // the name in keys: BySlug, or the value of was=
	Def    string // definition of its entries; they must be rebuilt when it changes
	Parts  []Part
	Value  types.Type
	Many   bool       // a record has a slice of values
	Max    int        // values of a record; 0: the library decides
	If     *Condition // nil: the model's condition

	Field   string        // that a form shows a taken value with; "": its own
	For     time.Duration // time a unique value is held after the creation; 0: while the record has it
	Hot     int           // initial segments of a list; 0: the library decides
	Parent  *Model        // whose deletion takes the records of a list along
	Values  bool          // a list also has its values, with their counts
	Numbers []*Number
	Ring    *Ring
	Ranking *Ranking

	Pos token.Pos
}

// ValuesStored returns the name in keys of the values of the list x, and of their counter.
func (x *Index) ValuesStored() string { return x.Stored + valuesSuffix }

func ValuesOf(name string) (list string, ok bool) { return strings.CutSuffix(name, valuesSuffix) }

const valuesSuffix = ".Values"

// Counted reports whether a counter has the number of all records with a value of x.
func (x *Index) Counted() bool {
	return slices.ContainsFunc(x.Numbers, func(n *Number) bool { return n.Of == nil && n.If == nil })
}

type Number struct {
	Counter *Counter
	Of      *Part      // the amount of a record; nil: 1
	If      *Condition // the records that add; nil: all
	Pos     token.Pos
}

// Clause returns n as a tag says it.
func (n *Number) Clause() string {
	word := "count"
	if n.Of != nil {
		word = "sum"
	}
	return word + "=" + n.Counter.Model.Name + "." + n.Counter.Field
}

// Summand describes the amount that a record adds, "" for 1.
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

func (x *Index) Several() bool {
	switch {
	case x.Ring != nil:
		return x.Ring.By != nil && x.Ring.By.Many
	case x.Ranking != nil:
		return x.Ranking.By != nil && x.Ranking.By.Many
	}
	return x.Many
}

func (x *Index) Condition() *Condition {
	return cmp.Or(x.If, x.Model.If)
}

// Followed returns the counters that the ranking x follows: the one it ranks by or, for a method,
// those of of=, by default all.
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

// Unread returns the followed counters that the method of x is known not to read, and those that it
// reads and x does not follow.
func (x *Index) Unread() (unread, unnamed []string) {
	if !x.Ranking.Known {
		return nil, nil
	}
	followed := x.Followed()
	for _, c := range x.Model.Counters {
		switch follows, reads := slices.Contains(followed, c), slices.Contains(x.Ranking.Reads, c.Field); {
		case follows && !reads:
			unread = append(unread, c.Field)
		case reads && !follows:
			unnamed = append(unnamed, c.Field)
		}
	}
	return unread, unnamed
}

// By describes the owners of rings or boards: the values of a field, a method or a group.
type By struct {
	Group string
	Parts []Part
	Value types.Type
	Many  bool
}

func (b *By) Name() string { return cmp.Or(b.Group, b.Parts[0].Name) }

type Ring struct {
	By     *By // nil: one for all records
	Shape  RingShape
	Shards int
}

// RingShape is the number of places in a ring, and in one key.
type RingShape struct{ Size, Segment int }

func (s RingShape) Stored() int { return 1 << bits.Len(uint(s.Size-1)) }

type Ranking struct {
	By     *By    // nil: one for all records
	Per    string // hour, day, week or month; "": no periods
	Keep   int
	Low    bool
	Ties   string // newest, oldest, shared or dense; "": no order
	Kind   string // of its stored scores: int, uint, float, decimal N, time, words, words LOCALE
	Locale string // "": the order of no language
	Scale  int    // the decimals that count; -1: scores are as they are
	Counts bool
	Of     []string // the fields of the counters that a method reads; nil: any
	Reads  []string
	Known  bool // Reads is complete
}

// ByTime reports whether creation times break ties.
func (r *Ranking) ByTime() bool { return r.Ties == "newest" || r.Ties == "oldest" }

// IsText reports whether r ranks texts. r may be nil.
func (r *Ranking) IsText() bool { return r != nil && strings.HasPrefix(r.Kind, textKind) }

const textKind = "words"

// TextKind returns the kind of texts in the order of a locale.
func TextKind(locale string) string { return strings.TrimSpace(textKind + " " + locale) }

// Counter is a number of each record with a key of its own.
type Counter struct {
	Model  *Model
	Name   string
	Stored string
	Field  string
	Type   types.Type
	Batch  string // when rankings follow it
	List   *Index // that it follows; nil: it is plain
	Sum    bool   // it adds up what the records in List say

	Pos token.Pos
}

func (c *Counter) Followers() []*Index {
	var found []*Index
	for _, x := range c.Model.Indexes {
		if x.Ranking != nil && slices.Contains(x.Followed(), c) {
			found = append(found, x)
		}
	}
	return found
}

// Events are the options of a model without an id: values in the rings of their owners.
type Events struct {
	By     Part
	Once   *Part // nil: every event counts
	Keep   int
	Layout string
	TTL    time.Duration
}
