package codegen

import (
	"cmp"
	"go/token"
	"go/types"
	"reflect"
	"strings"
)

// storedField is a field of a struct, or of a struct embedded in it, that is
// part of the stored value.
type storedField struct {
	name    string   // stored name
	aliases []string // older names, read as well
	path    string   // from the struct: "Title", "Base.Created"
	typ     types.Type
	place   place
}

// place is where a type is reached: a name for it if it has none, and the
// nearest field of the user's own package, for messages.
type place struct {
	name string
	pos  token.Pos
}

func (f storedField) names() []string { return append([]string{f.name}, f.aliases...) }

// fields returns what is stored of the struct st that is the type t. It notes an
// error if two fields have one name, or if nothing of t would be stored.
func (s *forms) fields(t types.Type, st *types.Struct, base string, pos token.Pos) []storedField {
	c := fieldCollector{forms: s, root: t, base: base, seen: make(map[string]bool)}
	c.collect(st, "", pos)
	if len(c.fields) == 0 && hidesData(st) {
		s.refuseEmpty(t, pos)
	}
	return c.fields
}

func (s *forms) refuseEmpty(t types.Type, pos token.Pos) {
	s.at(pos, "%s has no exported fields and no marshalling of its own: nothing of it would be stored", s.describe(t))
}

// hidesData reports whether st has fields at all, none of them exported.
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
	*forms
	root   types.Type
	base   string
	seen   map[string]bool
	fields []storedField
}

// collect adds the fields of st, which is reached by path from the root.
func (c *fieldCollector) collect(st *types.Struct, path string, pos token.Pos) {
	for i := range st.NumFields() {
		f, tag := st.Field(i), st.Tag(i)
		own := pos
		if f.Pkg() == c.pkg {
			own = f.Pos()
		}
		msgpack := parseMsgpackTag(tag)
		switch {
		case f.Name() == "_msgpack" && msgpack.asArray:
			c.at(own, "%s is stored as an array (as_array): an array does not survive a change of fields; remove the option", c.describe(c.root))
		case !stored(f, tag):
		case f.Embedded() && !msgpack.noinline && c.inlined(f, path, own):
		case f.Exported():
			c.add(f, msgpack, path, own)
		}
	}
}

// inlined reports whether f, an embedded field, is a struct whose fields are
// stored as those of the root, and adds them.
func (c *fieldCollector) inlined(f *types.Var, path string, pos token.Pos) bool {
	st, ok := f.Type().Underlying().(*types.Struct)
	if !ok {
		if _, pointer := f.Type().Underlying().(*types.Pointer); pointer && !f.Exported() {
			c.at(pos, "%s embeds a pointer to an unexported type, which would not be stored: name the field or export the type", c.describe(c.root))
		}
		return false
	}
	if c.structIn(f.Type()) == nil {
		return false
	}
	if f.Exported() && hidesData(st) {
		c.refuseEmpty(f.Type(), pos)
	}
	if f.Exported() || f.Pkg() == c.pkg {
		path += f.Name() + "."
	}
	c.collect(st, path, pos)
	return true
}

func (c *fieldCollector) add(f *types.Var, tag msgpackTag, path string, pos token.Pos) {
	field := storedField{
		name:    cmp.Or(tag.name, f.Name()),
		aliases: tag.aliases,
		path:    path + f.Name(),
		typ:     f.Type(),
		place:   place{c.base + capital(f.Name()), pos},
	}
	if tag.intern {
		c.at(pos, "field %s: the msgpack option intern has no stored form here: remove it", f.Name())
	}
	for _, name := range field.names() {
		if c.seen[name] {
			c.at(pos, "two fields of %s are stored as %q: rename one with `msgpack:\"other name\"`", c.describe(c.root), name)
		}
		c.seen[name] = true
	}
	if !c.selects(field.path, f) {
		c.at(pos, "field %s is hidden behind another of its name in %s", f.Name(), c.describe(c.root))
	}
	c.fields = append(c.fields, field)
}

// selects reports whether path from the root is the field f.
func (c *fieldCollector) selects(path string, f *types.Var) bool {
	t := c.root
	var found types.Object
	for name := range strings.SplitSeq(path, ".") {
		found, _, _ = types.LookupFieldOrMethod(t, true, c.pkg, name)
		if found == nil {
			return false
		}
		t = found.Type()
	}
	return found == f
}

// msgpackTag is a msgpack struct tag: "name,option,option:value". Zero values
// are always stored, so omitempty says nothing.
type msgpackTag struct {
	name     string
	aliases  []string // alias:older
	noinline bool
	intern   bool
	asArray  bool
}

// parseMsgpackTag returns what the struct tag says to msgpack.
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

// belongs reports whether a field with the tag is part of the record: stored in
// it or, as a counter, beside it.
func belongs(f *types.Var, tag string) bool {
	return (f.Exported() || f.Embedded()) && f.Name() != "_" && parseMsgpackTag(tag).name != "-" && !says(tag, "-")
}

// stored reports whether a field with the tag is part of what is stored as the record.
func stored(f *types.Var, tag string) bool { return belongs(f, tag) && !says(tag, "counter") }

// says reports whether a clause of the struct tag has the word.
func says(tag, word string) bool {
	for clause := range strings.SplitSeq(reflect.StructTag(tag).Get("kv"), ";") {
		head, _, _ := strings.Cut(clause, ",")
		if name, _, _ := strings.Cut(head, "="); strings.TrimSpace(name) == word {
			return true
		}
	}
	return false
}
