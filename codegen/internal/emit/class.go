package emit

import (
	"fmt"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/codegen/internal/model"
)

func (w *printer) class(m *model.Model) {
	codec := w.codecs.emit(m.Type)
	if m.Events != nil {
		w.events(m)
	} else {
		w.collection(m)
		for _, k := range m.Keys {
			w.key(k)
		}
		w.constructor(m)
	}
	w.guard(m)
	w.Write(codec)
}

func (w *printer) collection(m *model.Model) {
	w.printf("// %s\n", strings.Join(doc(m), "\n// "))
	w.printf("type %s struct {\n*%s.Records[%s]", m.Collection, w.names.runtime("kvmodel"), w.args(m))
	if m.Version > 1 {
		w.printf(" // version %d", m.Version)
	}
	if m.Total {
		w.printf("\n*%s.Total[%s] // Count: %s", w.names.runtime("index"), w.args(m), totalLine(m))
	}
	w.printf("\n\n")
	for _, h := range handles(m, w.names) {
		if len(h.parts) == 0 {
			w.printf("%s %s // %s\n", h.name, h.typ, h.line)
			continue
		}
		w.printf("%s struct {\n%s // %s\n\n", h.name, h.parts[0].typ, h.parts[0].line)
		for _, part := range h.parts[1:] {
			w.printf("%s %s // %s\n", part.name, part.typ, part.line)
		}
		w.printf("}\n")
	}
	w.printf("}\n\n")
}

func (w *printer) args(m *model.Model) string {
	return w.names.typeString(m.Type) + ", " + w.names.typeString(m.IDType)
}

func (w *printer) key(k model.Key) {
	w.printf("// %s is %s.\ntype %s struct {\n", k.Name, k.About, k.Name)
	for _, p := range k.Parts {
		w.printf("%s %s\n", p.Name, w.names.typeString(p.Type))
	}
	w.printf("}\n\n")
}

func (w *printer) constructor(m *model.Model) {
	kvmodel := w.names.runtime("kvmodel")
	w.printf("// New%s returns the %s in db.\nfunc New%s(db *%s.DB) *%s {\n", m.Collection, m.Collection, m.Collection, kvmodel, m.Collection)
	w.printf("r := %s.NewRecords(db, %s.Schema[%s]{\n", kvmodel, kvmodel, w.args(m))
	w.printf("Name: %q, Version: %d,\n", m.Stored, m.Version)
	w.identity(m)
	w.printf("Codec: &%s,\n", w.codecs.codecName(m.Type))
	if len(m.Private) > 0 {
		w.printf("Private: %#v,\n", m.Private)
	}
	w.times(m)
	w.kept(m)
	w.printf("})\n")
	all := handles(m, w.names)
	isStruct := func(h handle) bool { return len(h.parts) > 0 }
	if !slices.ContainsFunc(all, isStruct) {
		w.printf("return ")
		w.made(m, all)
		w.printf("}\n\n")
		return
	}
	w.printf("c := ")
	w.made(m, slices.DeleteFunc(slices.Clone(all), isStruct))
	for _, h := range all {
		for _, part := range h.parts {
			w.printf("c.%s.%s = %s\n", h.name, part.name, part.make)
		}
	}
	w.printf("return c\n}\n\n")
}

func (w *printer) made(m *model.Model, all []handle) {
	w.printf("&%s{\nRecords: r,\n", m.Collection)
	if m.Total {
		w.printf("Total: %s.NewTotal(r),\n", w.names.runtime("index"))
	}
	for _, h := range all {
		w.printf("%s: %s,\n", h.name, h.make)
	}
	w.printf("}\n")
}

func (w *printer) identity(m *model.Model) {
	v, typ, id := variable(m), m.Type.Obj().Name(), w.names.typeString(m.IDType)
	get, set := v+"."+m.ID[0].Name, "id"
	if len(m.ID) > 1 {
		get = composite(id, m.ID, v)
		set = eachPart(m.ID, "id")
	}
	w.printf("ID: func(%s *%s) %s { return %s },\n", v, typ, id, get)
	w.printf("SetID: func(%s *%s, id %s) { %s = %s },\n", v, typ, id, eachPart(m.ID, v), set)
	w.printf("Key: %s,\n", keyExpr(m.IDType, w.names))
}

func (w *printer) times(m *model.Model) {
	v := variable(m)
	for _, f := range []struct{ schema, name string }{
		{"Revision", m.VersionField}, {"Created", m.Created}, {"Updated", m.Updated}, {"Expires", m.Expires},
	} {
		if f.name == "" {
			continue
		}
		typ := "int64"
		if f.schema != "Revision" {
			typ = w.names.add("time", "time") + ".Time"
		}
		w.printf("%s: func(%s *%s) *%s { return &%s.%s },\n", f.schema, v, m.Type.Obj().Name(), typ, v, f.name)
	}
}

// guard writes lines that stop compiling when the struct, its tags or its methods change: the names
// of the types say how to fix it.
func (w *printer) guard(m *model.Model) {
	typ := m.Type.Obj().Name()
	w.printf("// These lines stop compiling when %s changes: run go generate again.\n", typ)
	w.printf("type goGenerateAgainFor%s = struct {\n", typ)
	s := m.Type.Underlying().(*types.Struct)
	for i := range s.NumFields() {
		f := s.Field(i)
		name := f.Name() + " "
		if f.Embedded() {
			name = ""
		}
		w.printf("%s%s %s\n", name, w.names.spelled(f.Type()), quoteTag(s.Tag(i)))
	}
	w.printf("}\n\nvar _ goGenerateAgainFor%s = %s{}\n\n", typ, typ)
	for _, name := range slices.Sorted(maps.Keys(m.Methods)) {
		w.printf("type goGenerateAgainFor%s%s = func(*%s) %s\n\n", typ, name, typ, w.names.spelled(m.Methods[name]))
		w.printf("var _ goGenerateAgainFor%s%s = (*%s).%s\n\n", typ, name, typ, name)
	}
}

func quoteTag(tag string) string {
	switch {
	case tag == "":
		return ""
	case strings.ContainsAny(tag, "`\r\n"):
		return fmt.Sprintf("%q", tag)
	}
	return "`" + tag + "`"
}

func (w *printer) kept(m *model.Model) {
	if m.Sequential {
		w.printf("Sequential: true,\n")
	}
	if m.History > 0 {
		w.printf("History: %d,\n", m.History)
	}
	if m.Forget {
		w.printf("Forget: true,\n")
	}
	if m.Relaxed {
		w.printf("Relaxed: true,\n")
	}
	if len(m.Children) > 0 {
		w.printf("Children: []string{%s},\n", each(m.Children, func(x *model.Index) string { return strconv.Quote(x.Model.Stored + "." + x.Stored) }))
	}
	w.gone(m)
	if len(m.Counters) == 0 {
		return
	}
	v, typ := variable(m), m.Type.Obj().Name()
	w.printf("Counters: []%s.CounterOf[%s]{\n", w.names.runtime("kvmodel"), typ)
	for _, c := range m.Counters {
		derived := ""
		if c.List != nil {
			derived = "Derived: true, "
		}
		if c.Sum {
			derived += "Sum: true, "
		}
		w.printf("{Name: %q, %sSet: func(%s *%s, n int64) { %s.%s = %s }},\n", c.Stored, derived, v, typ, v, c.Field, w.number(c))
	}
	w.printf("},\n")
}

func (w *printer) gone(m *model.Model) {
	g := m.Gone
	if len(g.Indexes)+len(g.Counters) == 0 && !g.History {
		return
	}
	var parts []string
	if len(g.Indexes) > 0 {
		parts = append(parts, fmt.Sprintf("Indexes: %#v", g.Indexes))
	}
	if len(g.Counters) > 0 {
		parts = append(parts, fmt.Sprintf("Counters: %#v", g.Counters))
	}
	if g.History {
		parts = append(parts, "History: true")
	}
	w.printf("Gone: %s.Gone{%s},\n", w.names.runtime("kvmodel"), strings.Join(parts, ", "))
}

func (w *printer) number(c *model.Counter) string {
	if typ := w.names.typeString(c.Type); typ != "int64" {
		return typ + "(n)"
	}
	return "n"
}
