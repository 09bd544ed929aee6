package codegen

import (
	"bytes"
	"fmt"
	"go/format"
	"go/types"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// A File is a file that kvgen writes.
type File struct {
	Path  string
	Text  []byte
	Fault error // why Text is not Go; it is written all the same, so that it can be read
}

// files returns what the package's generated files should hold: kv.go, and one
// beside each file with models, sorted by path.
func (p *Package) files(r *reporter) []File {
	if len(p.Models) == 0 {
		return nil
	}
	byFile := map[string][]*Model{}
	for _, m := range p.Models {
		byFile[m.File] = append(byFile[m.File], m)
	}
	names := newImports(p.source.types, p.taken())
	codecs := p.codecs(r, names)
	files := []File{p.emitModels(names)}
	for _, path := range slices.Sorted(maps.Keys(byFile)) {
		slices.SortFunc(byFile[path], func(a, b *Model) int { return int(a.pos - b.pos) })
		files = append(files, p.emitFile(names, codecs, path, byFile[path]))
	}
	return files
}

// taken returns the names that generated code must not give to anything else.
func (p *Package) taken() map[string]bool {
	taken := map[string]bool{"Models": true, "New": true}
	for name := range p.source.declared() {
		taken[name] = true
	}
	for _, m := range p.Models {
		taken[m.Collection], taken["New"+m.Collection] = true, true
		taken[m.receiver()] = true
		for _, k := range m.Keys {
			taken[k.Name] = true
		}
	}
	for _, local := range []string{"a", "b", "c", "d", "k", "m", "r", "v", "w", "id", "db", "enc", "dec", "name"} {
		taken[local] = true
	}
	return taken
}

// A printer writes one generated file.
type printer struct {
	bytes.Buffer
	names  *imports
	codecs *codecSet
}

func (w *printer) printf(format string, args ...any) { fmt.Fprintf(w, format, args...) }

// file returns what was printed as a whole file of the package pkg, formatted.
func (w *printer) file(path, pkg string) File {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\npackage %s\n\n%s\n", header, pkg, w.names.decl())
	b.Write(w.Bytes())
	text, err := format.Source(b.Bytes())
	if err != nil {
		return File{path, b.Bytes(), fmt.Errorf("what kvgen wrote here is not Go, a fault of kvgen: %w", err)}
	}
	return File{path, text, nil}
}

// emitModels returns the package's kv.go.
func (p *Package) emitModels(names *imports) File {
	w := &printer{names: names}
	kvmodel := w.names.runtime("kvmodel")
	w.printf("// Models are the models of this package in one database.\ntype Models struct {\n")
	for _, m := range p.Models {
		w.printf("%s *%s\n", m.Collection, m.Collection)
	}
	w.printf("}\n\n// New returns the models of this package in db.\nfunc New(db *%s.DB) *Models {\nreturn &Models{\n", kvmodel)
	for _, m := range p.Models {
		w.printf("%s: New%s(db),\n", m.Collection, m.Collection)
	}
	w.printf("}\n}\n\n// All returns every model, sorted by name, as package inspect takes them.\nfunc (m *Models) All() []%s.Model {\nreturn []%s.Model{\n", kvmodel, kvmodel)
	for _, m := range p.Models {
		w.printf("m.%s,\n", m.Collection)
	}
	w.printf("}\n}\n")
	return w.file(filepath.Join(p.Dir, "kv.go"), p.Name)
}

// emitFile returns the generated file for models, which stand in the file at path.
func (p *Package) emitFile(names *imports, codecs *codecSet, path string, models []*Model) File {
	w := &printer{names: names, codecs: codecs}
	for _, m := range models {
		w.model(m)
	}
	return w.file(strings.TrimSuffix(path, ".go")+"_kv.go", p.Name)
}

// model writes all that belongs to m.
func (w *printer) model(m *Model) {
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

// collection writes the type that holds the records and indexes of m.
func (w *printer) collection(m *Model) {
	w.printf("// %s\n", strings.Join(m.doc(), "\n// "))
	w.printf("type %s struct {\n*%s.Records[%s] %s\n\n", m.Collection, w.names.runtime("kvmodel"), w.args(m), m.comment())
	for _, h := range m.handles(w.names) {
		w.printf("%s %s // %s\n", h.name, h.typ, h.line)
	}
	w.printf("}\n\n")
}

// args returns the type arguments for the record and id of m.
func (w *printer) args(m *Model) string {
	return w.names.typeString(m.Type) + ", " + w.names.typeString(m.IDType)
}

// key writes a key type.
func (w *printer) key(k Key) {
	w.printf("// %s is %s.\ntype %s struct {\n", k.Name, k.About, k.Name)
	for _, p := range k.Parts {
		w.printf("%s %s\n", p.Name, w.names.typeString(p.Type))
	}
	w.printf("}\n\n")
}

// constructor writes the function that makes the collection of m.
func (w *printer) constructor(m *Model) {
	kvmodel := w.names.runtime("kvmodel")
	w.printf("// New%s returns the %s in db.\nfunc New%s(db *%s.DB) *%s {\n", m.Collection, m.Collection, m.Collection, kvmodel, m.Collection)
	w.printf("r := %s.NewRecords(db, %s.Schema[%s]{\n", kvmodel, kvmodel, w.args(m))
	w.printf("Name: %q, Version: %d,\n", m.Stored, m.Version)
	w.identity(m)
	w.printf("Codec: &%s,\n", w.codecs.codecName(m.Type))
	w.times(m)
	w.kept(m)
	w.printf("})\nreturn &%s{\nRecords: r,\n", m.Collection)
	for _, h := range m.handles(w.names) {
		w.printf("%s: %s,\n", h.name, h.make)
	}
	w.printf("}\n}\n\n")
}

// identity writes how the id of a record is read, set and made a key.
func (w *printer) identity(m *Model) {
	v, typ, id := m.receiver(), m.Type.Obj().Name(), w.names.typeString(m.IDType)
	get, set := v+"."+m.ID[0].Name, "id"
	if len(m.ID) > 1 {
		get = composite(id, m.ID, v)
		set = eachPart(m.ID, "id")
	}
	w.printf("ID: func(%s *%s) %s { return %s },\n", v, typ, id, get)
	w.printf("SetID: func(%s *%s, id %s) { %s = %s },\n", v, typ, id, eachPart(m.ID, v), set)
	w.printf("Key: %s,\n", keyExpr(m.IDType, w.names))
}

// times writes where the fields are that the library fills in.
func (w *printer) times(m *Model) {
	for _, f := range []struct{ schema, name, typ string }{
		{"Revision", m.VersionField, "int64"},
		{"Created", m.Created, "time.Time"},
		{"Updated", m.Updated, "time.Time"},
		{"Expires", m.Expires, "time.Time"},
	} {
		if f.name == "" {
			continue
		}
		typ := f.typ
		if typ == "time.Time" {
			typ = w.names.add("time", "time") + ".Time"
		}
		v := m.receiver()
		w.printf("%s: func(%s *%s) *%s { return &%s.%s },\n", f.schema, v, m.Type.Obj().Name(), typ, v, f.name)
	}
}

// guard writes the lines that stop compiling when the struct, its tags or its
// methods change: struct types are assignable only if their tags are the same.
func (w *printer) guard(m *Model) {
	typ := m.Type.Obj().Name()
	w.printf("// These lines stop compiling when %s changes: run kvgen again.\nvar _ struct {\n", typ)
	s := m.Type.Underlying().(*types.Struct)
	for i := range s.NumFields() {
		f := s.Field(i)
		name := f.Name() + " "
		if f.Embedded() {
			name = ""
		}
		w.printf("%s%s %s\n", name, w.names.typeString(f.Type()), quoteTag(s.Tag(i)))
	}
	w.printf("} = %s{}\n\n", typ)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(m.checks))) {
		w.printf("var _ func(*%s) %s = (*%s).%s\n", typ, w.names.typeString(m.result(name)), typ, name)
	}
	w.printf("\n")
}

// quoteTag returns the struct tag as a literal.
func quoteTag(tag string) string {
	switch {
	case tag == "":
		return ""
	case strings.ContainsAny(tag, "`\r\n"):
		return fmt.Sprintf("%q", tag)
	}
	return "`" + tag + "`"
}

// result returns what the method called name of m returns.
func (m *Model) result(name string) types.Type {
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(m.Type), true, m.Type.Obj().Pkg(), name)
	return obj.(*types.Func).Signature().Results().At(0).Type()
}

// receiver returns what the closures of m call the record.
func (m *Model) receiver() string { return receiverName(m.Type.Obj().Name()) }

// receiverName returns what methods of the type call its value.
func receiverName(typ string) string {
	first := strings.ToLower(typ[:1])
	if first < "a" || first > "z" {
		return "v"
	}
	return first
}

// composite returns the literal of the key type typ made of the parts of v.
func composite(typ string, parts []Part, v string) string {
	fields := make([]string, len(parts))
	for i, p := range parts {
		fields[i] = p.Name + ": " + p.Expr(v)
	}
	return typ + "{" + strings.Join(fields, ", ") + "}"
}

// eachPart returns the parts of v, separated by commas.
func eachPart(parts []Part, v string) string {
	exprs := make([]string, len(parts))
	for i, p := range parts {
		exprs[i] = p.Expr(v)
	}
	return strings.Join(exprs, ", ")
}
