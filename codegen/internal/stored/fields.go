package stored

import (
	"cmp"
	"go/token"
	"go/types"
	"reflect"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/english"
)

// Field is a stored field of a struct, or of one embedded in it.
type Field struct {
	Names []string // the stored name, then older ones that are also read
	Path  string   // from the struct: "Title", "Base.Created"
	Type  types.Type
	Place Place

	private bool // on it, or on its embedding field
}

// Place is a type's name for messages, if it has none, and the nearest field of the user's package.
type Place struct {
	Name string
	Pos  token.Pos
}

// Fields returns the stored fields of st, the type t. It reports two fields with one name, and a t
// without stored data.
func (s *Forms) Fields(t types.Type, st *types.Struct, base string, pos token.Pos) []Field {
	c := fieldCollector{Forms: s, root: t, base: base, seen: make(map[string]bool)}
	c.collect(st, "", pos, false)
	if len(c.fields) == 0 && hidesData(st) {
		s.refuseEmpty(t, pos)
	}
	return c.fields
}

func (s *Forms) refuseEmpty(t types.Type, pos token.Pos) {
	s.At(pos, "%s has no exported fields and no marshaling of its own: nothing of it would be stored", Describe(t, s.Pkg))
}

func hidesData(st *types.Struct) bool {
	hides := false
	for f := range st.Fields() {
		if f.Exported() {
			return false
		}
		hides = hides || f.Name() != "_"
	}
	return hides
}

type fieldCollector struct {
	*Forms
	root   types.Type
	base   string
	seen   map[string]bool
	fields []Field
}

// collect adds the fields of st, reached by path from the root. All are private if the embedding
// field is.
func (c *fieldCollector) collect(st *types.Struct, path string, pos token.Pos, private bool) {
	for i := range st.NumFields() {
		f, tag := st.Field(i), st.Tag(i)
		private := private || Says(tag, "private")
		own := pos
		if f.Pkg() == c.Pkg {
			own = f.Pos()
		}
		msgpack := parseMsgpackTag(tag)
		switch {
		case f.Name() == "_msgpack" && msgpack.asArray:
			c.At(own, "%s is stored as an array (as_array): an array does not survive a change of fields; remove the option", Describe(c.root, c.Pkg))
		case !InRecord(f, tag):
		case f.Embedded() && !msgpack.noinline && c.inlined(f, path, own, private):
		case f.Exported():
			c.add(f, msgpack, path, own, private)
		}
	}
}

// inlined adds the fields of f, an embedded struct, if they are stored like the root's.
func (c *fieldCollector) inlined(f *types.Var, path string, pos token.Pos, private bool) bool {
	st, ok := f.Type().Underlying().(*types.Struct)
	if !ok {
		if _, pointer := f.Type().Underlying().(*types.Pointer); pointer && !f.Exported() {
			c.At(pos, "%s embeds a pointer to an unexported type, which would not be stored: name the field or export the type", Describe(c.root, c.Pkg))
		}
		return false
	}
	if c.StructIn(f.Type()) == nil {
		return false
	}
	if f.Exported() && hidesData(st) {
		c.refuseEmpty(f.Type(), pos)
	}
	if f.Exported() || f.Pkg() == c.Pkg {
		path += f.Name() + "."
	}
	c.collect(st, path, pos, private)
	return true
}

func (c *fieldCollector) add(f *types.Var, tag msgpackTag, path string, pos token.Pos, private bool) {
	field := Field{
		Names: append([]string{cmp.Or(tag.name, f.Name())}, tag.aliases...),
		Path:  path + f.Name(),
		Type:  f.Type(),
		Place: Place{c.base + english.Capital(f.Name()), pos},

		private: private,
	}
	if tag.intern {
		c.At(pos, "field %s: the msgpack option intern has no stored form here: remove it", f.Name())
	}
	for _, name := range field.Names {
		if c.seen[name] {
			c.At(pos, "two fields of %s are stored as %q: rename one with `msgpack:\"other name\"`", Describe(c.root, c.Pkg), name)
		}
		c.seen[name] = true
	}
	if !c.selects(field.Path, f) {
		c.At(pos, "field %s is hidden behind another of its name in %s", f.Name(), Describe(c.root, c.Pkg))
	}
	c.fields = append(c.fields, field)
}

// selects reports whether path from the root is f.
func (c *fieldCollector) selects(path string, f *types.Var) bool {
	t := c.root
	var found types.Object
	for name := range strings.SplitSeq(path, ".") {
		found, _, _ = types.LookupFieldOrMethod(t, true, c.Pkg, name)
		if found == nil {
			return false
		}
		t = found.Type()
	}
	return found == f
}

// msgpackTag is "name,option,option:value". omitempty has no effect: zero values are stored.
type msgpackTag struct {
	name     string
	aliases  []string // alias:older
	noinline bool
	intern   bool
	asArray  bool
}

func parseMsgpackTag(tag string) msgpackTag {
	name, options, _ := strings.Cut(reflect.StructTag(tag).Get("msgpack"), ",")
	parsed := msgpackTag{name: name}
	for option := range strings.SplitSeq(options, ",") {
		word, value, _ := strings.Cut(strings.TrimSpace(option), ":")
		switch word {
		case "alias":
			parsed.aliases = append(parsed.aliases, value)
		case "noinline":
			parsed.noinline = true
		case "intern":
			parsed.intern = true
		case "as_array", "asArray":
			parsed.asArray = true
		}
	}
	return parsed
}

// Belongs reports whether a field is stored in the record or, as a counter, beside it.
func Belongs(f *types.Var, tag string) bool {
	return (f.Exported() || f.Embedded()) && f.Name() != "_" && parseMsgpackTag(tag).name != "-" && !Says(tag, "-")
}

func NameOf(f *types.Var, tag string) string {
	return cmp.Or(parseMsgpackTag(tag).name, f.Name())
}

// InRecord reports whether a field is stored in the record itself.
func InRecord(f *types.Var, tag string) bool { return Belongs(f, tag) && !Says(tag, "counter") }

// Says reports whether a clause of the kv tag has the word.
func Says(tag, word string) bool {
	for clause := range strings.SplitSeq(reflect.StructTag(tag).Get("kv"), ";") {
		head, _, _ := strings.Cut(clause, ",")
		if name, _, _ := strings.Cut(head, "="); strings.TrimSpace(name) == word {
			return true
		}
	}
	return false
}

// Private returns the stored names, also older ones, of fields of the record t that are private or
// have private fields within.
func (s *Forms) Private(t types.Type) []string {
	var names []string
	for _, f := range s.Fields(t, t.Underlying().(*types.Struct), "", token.NoPos) {
		if f.private || holdsPrivate(f.Type, map[types.Type]bool{}) {
			names = append(names, f.Names...)
		}
	}
	return names
}

func holdsPrivate(t types.Type, seen map[types.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			f, tag := u.Field(i), u.Tag(i)
			if InRecord(f, tag) && (Says(tag, "private") || holdsPrivate(f.Type(), seen)) {
				return true
			}
		}
	case *types.Map:
		return holdsPrivate(u.Key(), seen) || holdsPrivate(u.Elem(), seen)
	case interface{ Elem() types.Type }:
		return holdsPrivate(u.Elem(), seen)
	}
	return false
}
