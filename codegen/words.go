package codegen

import (
	"fmt"
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// A word is all that kvgen knows about one word of the grammar. A new kind of
// index is a new entry of the table below: how it is written, what it may stand
// on, and the emission that makes it built.
type word struct {
	name    string
	on      Site
	value   operand  // what stands after "="
	options []option // what stands after ","

	// index says that the word may repeat on one field, each time for another index.
	index bool

	// fits complains about a type that the word cannot stand on; nil fits all.
	fits func(types.Type) string

	// use gives a word that is no index its meaning.
	use func(b *builder, m member, c Clause)

	// also settles what an index of the word has besides; nil: nothing.
	also func(b *builder, x *Index)

	// emit is how an index is written; nil: the word is none.
	emit *emission
}

// An emission is how an index is written. It prints and decides nothing.
type emission struct {
	name func(*Index) string           // the default name
	typ  func(*Index, *imports) string // the type of its handle
	make func(*Index, *imports) string // the expression that makes it from r, the records
	line func(*Index) string           // what it holds, for the comment
	def  func(*Index) string           // what its entries are; nil: the values of its parts
	read string                        // the trips of reading it, for the plan

	listing bool // it has pages of records

	// deep tells whether an index takes two flights before the record commits,
	// where others take one; nil: none does.
	deep func(*Index) bool
}

// An option is one option of a word.
type option struct {
	name   string
	value  operand
	refers reference // what the value names
}

// An operand is what may stand after an "=".
type operand struct {
	form     string // as messages show it; "": no value may stand there
	optional bool
	wrong    func(string) string // complains about a value; nil takes all
}

// A reference is what the value of an option names.
type reference int

const (
	noReference  reference = iota
	keyField               // a field that can be a key: by=
	anyField               // a field: once=
	conditionRef           // a bool field or method: if=
)

// words is the grammar.
var words = []*word{
	{
		name: "id", on: OnField, fits: keyType, use: (*builder).useID,
		options: []option{{name: "seq"}},
	},
	{
		name: "unique", on: OnField | OnMethod, index: true, fits: keysType,
		value:   operand{form: "Group", optional: true, wrong: goName},
		options: indexOptions(),
		emit: &emission{
			name: func(x *Index) string { return "By" + x.subject() },
			typ:  func(x *Index, n *imports) string { return generic(x, n, "index", "Unique") },
			make: func(x *Index, n *imports) string {
				return n.runtime("index") + ".NewUnique(r, " + indexSpec(x, n) + ")"
			},
			line: func(x *Index) string { return "the one " + x.Model.Name + " with " + x.phrase() },
			read: "Find and FindMulti 2, or 1 with a remembered value",
		},
	},
	{
		name: "list", on: OnField | OnMethod, index: true, fits: keysType,
		value:   operand{form: "Group", optional: true, wrong: goName},
		options: indexOptions(option{name: "hot", value: number(1, 64)}),
		emit: &emission{
			name: func(x *Index) string { return "By" + x.subject() },
			typ: func(x *Index, n *imports) string {
				return generic(x, n, "index", "Lists", x.Model.IDType)
			},
			make: func(x *Index, n *imports) string {
				return n.runtime("index") + ".NewLists(r, " + indexSpec(x, n) + listOptions(x, n) + ")"
			},
			line:    func(x *Index) string { return "the " + x.Model.Collection + " with " + x.phrase() + x.counted() },
			read:    "Page 2, or 3 when cold; Size and Contains 1; Count, IDs and All in parts",
			listing: true,
		},
	},
	{
		name: "timeline", on: OnField | OnMethod, index: true, fits: comparableType,
		options: indexOptions(
			option{name: "by", value: operand{form: "Field"}, refers: keyField},
			option{name: "ring", value: number(1, 1<<30)},
			option{name: "segment", value: number(1, 1<<12)},
			option{name: "shards", value: number(1, 64)},
		),
		also: (*builder).useTimeline,
		emit: timelineEmission,
	},
	{
		name: "ranking", on: OnField | OnMethod, index: true, fits: scoreType,
		options: indexOptions(
			option{name: "by", value: operand{form: "Field"}, refers: keyField},
			option{name: "per", value: oneOf("hour", "day", "week", "month")},
			option{name: "keep", value: number(1, 1<<30)},
			option{name: "order", value: oneOf("low")},
			option{name: "ties", value: oneOf("shared")},
			option{name: "scale", value: number(0, 18)},
		),
		also: (*builder).useRanking,
		emit: rankingEmission,
	},
	{
		name: "counter", on: OnField, fits: integerType, use: (*builder).useCounter,
		options: []option{
			{name: "batch", value: oneOf("sampled", "window", "every")},
			{name: "name", value: operand{form: "Name", wrong: goName}},
			{name: "was", value: operand{form: "Name", wrong: goName}},
		},
	},
	{
		name: "count", on: OnField, fits: keysType, use: (*builder).useCount,
		value: operand{form: "Model.Field", wrong: modelField},
	},
	{name: "version", on: OnField, fits: int64Type, use: (*builder).useVersion},
	{name: "created", on: OnField, fits: timeType, use: (*builder).useCreated},
	{name: "updated", on: OnField, fits: timeType, use: (*builder).useUpdated},
	{name: "expires", on: OnField, fits: timeType, use: (*builder).useExpires},
	{name: "-", on: OnField, use: (*builder).useSkip},
	{
		name: "model", on: OnModel, use: (*builder).useModel,
		options: []option{
			{name: "name", value: operand{form: "Name", wrong: goName}},
			{name: "plural", value: operand{form: "Names", wrong: goName}},
			{name: "version", value: number(1, 1<<31-1)},
			{name: "if", value: operand{form: "Method"}, refers: conditionRef},
			{name: "history", value: number(1, 1<<20)},
			{name: "was", value: operand{form: "Name", wrong: goName}},
		},
	},
	{
		name: "events", on: OnModel, use: (*builder).useEvents,
		options: []option{
			{name: "by", value: operand{form: "Field"}, refers: keyField},
			{name: "once", value: operand{form: "Field"}, refers: anyField},
			{name: "keep", value: number(1, 1<<30)},
			{name: "layout", value: oneOf("append", "ring", "packed")},
			{name: "ttl", value: operand{form: "24h", wrong: duration}},
			{name: "name", value: operand{form: "Name", wrong: goName}},
			{name: "plural", value: operand{form: "Names", wrong: goName}},
			{name: "was", value: operand{form: "Name", wrong: goName}},
		},
	},
}

// indexOptions returns the options that every index has, and its own.
func indexOptions(own ...option) []option {
	return append(own,
		option{name: "name", value: operand{form: "Name", wrong: goName}},
		option{name: "was", value: operand{form: "Name", wrong: goName}},
		option{name: "if", value: operand{form: "Method"}, refers: conditionRef},
	)
}

// option returns the option of w called name.
func (w *word) option(name string) (option, bool) {
	for _, o := range w.options {
		if o.name == name {
			return o, true
		}
	}
	return option{}, false
}

// knownOptions returns the options of w for a message about the unknown option wrong.
func (w *word) knownOptions(wrong string) string {
	if len(w.options) == 0 {
		return "it has none"
	}
	names := make([]string, len(w.options))
	for i, o := range w.options {
		names[i] = o.name
	}
	return known(wrong, names)
}

// wordsOn returns the words that may stand on site, in the order of the grammar.
func wordsOn(site Site) []string {
	var names []string
	for _, w := range words {
		if w.on&site != 0 {
			names = append(names, w.name)
		}
	}
	return names
}

// check complains about the value that stands after name, at offset.
func (o operand) check(name, value string, valued bool, offset int) error {
	switch {
	case !valued && (o.form == "" || o.optional):
		return nil
	case !valued || value == "" && o.form != "":
		return &TagError{offset, fmt.Sprintf("%s wants a value: %s=%s", name, name, o.form)}
	case o.form == "":
		return &TagError{offset, name + " takes no value"}
	case o.wrong == nil:
		return nil
	}
	if wrong := o.wrong(value); wrong != "" {
		return &TagError{offset, fmt.Sprintf("%s=%s: %s", name, value, wrong)}
	}
	return nil
}

// number is an operand from least to most.
func number(least, most int) operand {
	return operand{form: "N", wrong: func(s string) string {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most || s != strconv.Itoa(n) {
			return fmt.Sprintf("want a number from %d to %d", least, most)
		}
		return ""
	}}
}

// oneOf is an operand that is one of values.
func oneOf(values ...string) operand {
	return operand{form: strings.Join(values, "|"), wrong: func(s string) string {
		for _, v := range values {
			if s == v {
				return ""
			}
		}
		return known(s, values)
	}}
}

// duration complains about a text that is no length of time.
func duration(s string) string {
	if d, err := time.ParseDuration(s); err != nil || d < time.Second {
		return "want a duration of at least a second, like 24h or 30m"
	}
	return ""
}

// goName complains about a text that cannot be an exported name of Go.
func goName(s string) string {
	if token.IsKeyword(s) {
		return "it is a keyword of Go; take another name"
	}
	if !token.IsIdentifier(s) || !token.IsExported(s) {
		return "want a Go name that starts with a capital letter"
	}
	return ""
}

// modelField complains about a text that is not Model.Field.
func modelField(s string) string {
	model, field, ok := strings.Cut(s, ".")
	if !ok || goName(model) != "" || goName(field) != "" {
		return "want the counter to follow as Model.Field"
	}
	return ""
}

// keyType complains about a type that cannot be a key.
func keyType(t types.Type) string {
	if _, ok := scalarKey(t); ok || keyStruct(t) != nil {
		return ""
	}
	return "a key is a string, an integer, a bool, a named type of these, or a struct of two to four of these such as kvgen writes"
}

// keysType complains about a type that is neither a key nor a slice of keys.
func keysType(t types.Type) string {
	if s, ok := t.Underlying().(*types.Slice); ok {
		t = s.Elem()
	}
	return keyType(t)
}

// scoreType complains about a type that has no order to rank by.
func scoreType(t types.Type) string {
	b, ok := t.Underlying().(*types.Basic)
	if ok && b.Info()&(types.IsInteger|types.IsFloat) != 0 && b.Kind() != types.Uintptr || isTime(t) {
		return ""
	}
	return "a ranking is by a number or a time.Time"
}

// integerType complains about a type that is no integer.
func integerType(t types.Type) string {
	if b, ok := t.Underlying().(*types.Basic); ok && b.Info()&types.IsInteger != 0 {
		return ""
	}
	return "a counter is an integer"
}

// int64Type complains about any type but int64.
func int64Type(t types.Type) string {
	if types.Identical(t, types.Typ[types.Int64]) {
		return ""
	}
	return "want int64"
}

// timeType complains about any type but time.Time.
func timeType(t types.Type) string {
	if isTime(t) {
		return ""
	}
	return "want time.Time"
}

// capital returns name with a capital first letter.
func capital(name string) string {
	r, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToUpper(r)) + name[size:]
}
