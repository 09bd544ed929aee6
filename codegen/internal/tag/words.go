// Package tag reads kv tags. Its table of words is the grammar.
package tag

import (
	"go/types"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/english"
)

type Site int

const (
	OnField  Site = 1 << iota // a field's tag
	OnModel                   // the tag of the field _ struct{}
	OnMethod                  // a //kv: comment above a method
)

func (s Site) String() string {
	var places []string
	for i, place := range []string{"a field", "the field _ struct{}", "a method"} {
		if s&(1<<i) != 0 {
			places = append(places, place)
		}
	}
	return strings.Join(places, " or ")
}

type word struct {
	name    string
	on      Site
	value   operand  // after "="
	options []option // after ","

	// many allows the word several times on one field.
	many bool

	// fits complains about an unsuitable type; nil accepts all.
	fits func(types.Type) string
}

type option struct {
	name   string
	value  operand
	refers Reference
	list   bool // more values may follow, after commas
}

// Reference is the kind of name that an option takes; the functions complain about unsuitable
// types.
type Reference struct {
	Field     func(types.Type) string
	Condition bool
	By        func(types.Type) string
}

var (
	nameOption   = option{name: "name", value: operand{form: "Name", wrong: goName}}
	wasOption    = option{name: "was", value: operand{form: "Name", wrong: goName}}
	pluralOption = option{name: "plural", value: operand{form: "Names", wrong: goName}}
	byOption     = option{name: "by", value: operand{form: "Field"}, refers: Reference{By: keysType}}
	maxOption    = option{name: "max", value: number(1, 1_000_000)}
	ifOption     = option{name: "if", value: operand{form: "Method"}, refers: Reference{Condition: true}}
)

// words is the grammar. Package resolve has the effect of each word, and package emit the printed
// form of an index.
var words = []*word{
	{name: "id", on: OnField, fits: keyType, options: []option{{name: "seq"}}},
	{
		name: "unique", on: OnField | OnMethod, many: true, fits: keysType,
		value: operand{form: "Group", optional: true, wrong: goName},
		options: indexOptions(
			option{name: "field", value: operand{form: "Field"}, refers: Reference{Field: anyType}},
			option{name: "for", value: operand{form: "720h", wrong: duration}},
		),
	},
	{
		name: "list", on: OnField | OnMethod, many: true, fits: keysType,
		value: operand{form: "Group", optional: true, wrong: goName},
		options: indexOptions(
			option{name: "hot", value: number(1, 64)},
			option{name: "with", value: operand{form: "Model", wrong: goName}},
			option{name: "values"},
		),
	},
	{name: "group", on: OnField, fits: keyType, value: operand{form: "Group", wrong: goName}},
	{
		name: "timeline", on: OnField | OnMethod, many: true, fits: comparableType,
		options: indexOptions(
			byOption,
			option{name: "ring", value: number(1, 1<<30)},
			option{name: "segment", value: number(1, 1<<12)},
			option{name: "shards", value: number(1, 64)},
		),
	},
	{
		name: "ranking", on: OnField | OnMethod, many: true, fits: scoreType,
		options: indexOptions(
			byOption,
			option{name: "per", value: oneOf("hour", "day", "week", "month")},
			option{name: "keep", value: number(1, 1<<30)},
			option{name: "order", value: oneOf("low", "high")},
			option{name: "locale", value: operand{form: "sv", wrong: locale}},
			option{name: "ties", value: oneOf("newest", "oldest", "shared", "dense")},
			option{name: "scale", value: number(0, 18)},
			option{name: "of", value: operand{form: "Counter", wrong: goName}, list: true},
		),
	},
	{
		name: "counter", on: OnField, fits: integerType,
		options: []option{{name: "batch", value: oneOf("sampled", "window", "every")}, nameOption, wasOption},
	},
	{
		name: "count", on: OnField, many: true, fits: keysType, value: operand{form: "Model.Field", wrong: modelField},
		options: []option{ifOption},
	},
	{
		name: "sum", on: OnField, many: true, fits: keysType, value: operand{form: "Model.Field", wrong: modelField},
		options: []option{{name: "of", value: operand{form: "Method"}, refers: Reference{By: summandType}}, ifOption},
	},
	{name: "version", on: OnField, fits: int64Type},
	{name: "created", on: OnField, fits: timeType},
	{name: "updated", on: OnField, fits: timeType},
	{name: "expires", on: OnField, fits: timeType},
	{name: "private", on: OnField},
	{name: "-", on: OnField},
	{
		name: "model", on: OnModel,
		options: []option{
			nameOption,
			pluralOption,
			{name: "version", value: number(1, 1<<31-1)},
			ifOption,
			{name: "count"},
			{name: "history", value: number(1, 1<<20)},
			{name: "forget"},
			{name: "relaxed"},
			wasOption,
		},
	},
	{
		name: "events", on: OnModel,
		options: []option{
			{name: "by", value: operand{form: "Field"}, refers: Reference{Field: keyType}},
			{name: "once", value: operand{form: "Field"}, refers: Reference{Field: comparableType}},
			{name: "keep", value: number(1, 1<<30)},
			{name: "layout", value: oneOf("append", "ring", "packed")},
			{name: "ttl", value: operand{form: "24h", wrong: duration}},
			nameOption,
			pluralOption,
			wasOption,
		},
	},
}

func indexOptions(own ...option) []option {
	return append(own, maxOption, nameOption, wasOption, ifOption)
}

func (w *word) option(name string) (option, bool) {
	for _, o := range w.options {
		if o.name == name {
			return o, true
		}
	}
	return option{}, false
}

func (w *word) knownOptions(wrong string) string {
	names := make([]string, len(w.options))
	for i, o := range w.options {
		names[i] = o.name
	}
	return english.Known(wrong, names)
}

func elsewhere(name string, site Site) []string {
	var names []string
	for _, w := range words {
		if _, ok := w.option(name); ok && w.on&site != 0 {
			names = append(names, w.name)
		}
	}
	return names
}

func wordsOn(site Site) []string {
	var names []string
	for _, w := range words {
		if w.on&site != 0 {
			names = append(names, w.name)
		}
	}
	return names
}
