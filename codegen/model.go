package codegen

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
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

	// The fields that the library fills in, "" where there is none.
	VersionField, Created, Updated, Expires string

	pos    token.Pos
	checks []string // the methods that the guard has to hold, sorted
}

// A Key is a key type that kvgen writes.
type Key struct {
	Name, About string
	Parts       []Part
	Type        types.Type
}

// An Index is one index over the records of a model.
type Index struct {
	Model  *Model
	Clause Clause
	Name   string // BySlug
	Stored string // the name in keys: BySlug, or what was= says
	Parts  []Part // what its value is made of
	Value  types.Type
	Many   bool // a record has a slice of values
	If     *Condition

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

// A member is a field or method under a tag, with its type.
type member struct {
	Part
	*tagged
}

// A builder makes the models of one package.
type builder struct {
	*reporter
	source *source
	draft  *draft
	model  *Model
}

// buildPackage returns the package that s declares and reports what is wrong with its models.
func buildPackage(r *reporter, s *source) *Package {
	p := &Package{Name: s.name, Path: s.path, Dir: s.dir, source: s}
	for _, d := range s.drafts {
		b := &builder{reporter: r, source: s, draft: d}
		if m := b.build(); m != nil {
			p.Models = append(p.Models, m)
		}
	}
	slices.SortFunc(p.Models, func(a, b *Model) int { return strings.Compare(a.Name, b.Name) })
	return p
}

// build returns the model of the draft, nil if its types cannot be known.
func (b *builder) build() *Model {
	d := b.draft
	named := b.source.named(d.name)
	if named == nil || !b.resolved(named) {
		return nil
	}
	b.model = &Model{
		Name: d.names.model, Stored: d.names.stored, Collection: d.names.collection,
		Version: 1, Type: named, File: d.file.path, pos: d.spec.Pos(),
	}
	for _, t := range d.tags {
		b.useTag(t)
	}
	b.finishID()
	b.finishIndexes()
	b.checkHooks()
	b.checkCodec()
	return b.model
}

// useTag gives the clauses of t their meaning.
func (b *builder) useTag(t *tagged) {
	m, ok := b.member(t)
	if !ok {
		return
	}
	for _, c := range t.clauses {
		at := t.text.pos(c.Offset)
		if c.word.fits != nil {
			if wrong := c.word.fits(m.Type); wrong != "" {
				b.at(at, "%s cannot stand on %s of type %s: %s", c.Word, m.Label(), b.typeName(m.Type), wrong)
				continue
			}
		}
		if !b.checkOptions(t, c) {
			continue
		}
		switch {
		case !c.word.built():
			b.at(at, "%s is not built yet: kvgen knows how it is written, but cannot generate it", c.Word)
		case c.word.emit != nil:
			b.useIndex(m, c)
		default:
			c.word.use(b, m, c)
		}
	}
}

// member returns the field or method under t, false if it was reported before.
func (b *builder) member(t *tagged) (member, bool) {
	if t.site == OnModel {
		return member{Part{Name: "_", Type: types.NewStruct(nil, nil)}, t}, true
	}
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(b.model.Type), true, b.source.types, t.name)
	switch o := obj.(type) {
	case *types.Var:
		return member{Part{t.name, b.storedAs(o), o.Type(), false}, t}, true
	case *types.Func:
		result := o.Signature().Results().At(0).Type()
		if !b.valid(result, t.pos, t.name+"()") {
			return member{}, false
		}
		b.model.checks = append(b.model.checks, t.name)
		return member{Part{t.name, t.name + "()", result, true}, t}, true
	}
	b.at(t.pos, "cannot find %s in %s", t.name, b.model.Name)
	return member{}, false
}

// checkOptions reports options of c that are not built or name nothing that they can.
func (b *builder) checkOptions(t *tagged, c Clause) bool {
	ok := true
	for _, o := range c.Options {
		known, _ := c.word.option(o.Name)
		at := t.text.pos(o.Offset)
		switch {
		case known.unbuilt:
			b.at(at, "%s of %s is not built yet: kvgen knows how it is written, but cannot generate it", o.Name, c.Word)
			ok = false
		case known.refers == conditionRef:
			ok = b.condition(o.Value, at) != nil && ok
		case known.refers != noReference:
			ok = b.reference(o, known.refers, at) && ok
		}
	}
	return ok
}

// reference reports whether o names a stored field, and one that can be a key if it must.
func (b *builder) reference(o Option, wanted reference, at token.Pos) bool {
	f := b.field(o.Value)
	if f == nil {
		b.at(at, "%s=%s: %s has no such field; %s", o.Name, o.Value, b.model.Name, known(o.Value, b.fieldNames()))
		return false
	}
	if wrong := keyType(f.Type()); wanted == keyField && wrong != "" {
		b.at(at, "%s=%s: %s is of type %s: %s", o.Name, o.Value, o.Value, b.typeName(f.Type()), wrong)
		return false
	}
	return true
}

// condition returns the bool field or method called name, or reports at that there is none.
func (b *builder) condition(name string, at token.Pos) *Condition {
	obj, _, _ := types.LookupFieldOrMethod(types.NewPointer(b.model.Type), true, b.source.types, name)
	switch o := obj.(type) {
	case *types.Func:
		if types.TypeString(o.Type(), nil) == "func() bool" {
			b.model.checks = append(b.model.checks, name)
			return &Condition{name, true}
		}
	case *types.Var:
		if types.Identical(o.Type(), types.Typ[types.Bool]) && b.field(name) != nil {
			return &Condition{name, false}
		}
	}
	b.at(at, "if=%s: want a stored bool field of %s, or a method func (*%s) %s() bool; %s",
		name, b.model.Name, b.draft.name, name, known(name, b.conditions()))
	return nil
}

// conditions returns the names that if= can stand for.
func (b *builder) conditions() []string {
	var names []string
	for f := range b.fields() {
		if types.Identical(f.Type(), types.Typ[types.Bool]) {
			names = append(names, f.Name())
		}
	}
	methods := types.NewMethodSet(types.NewPointer(b.model.Type))
	for m := range methods.Methods() {
		if types.TypeString(m.Type(), nil) == "func() bool" {
			names = append(names, m.Obj().Name())
		}
	}
	return names
}

// field returns the stored field of the model called name, nil if there is none.
func (b *builder) field(name string) *types.Var {
	for f := range b.fields() {
		if f.Name() == name {
			return f
		}
	}
	return nil
}

// storedAs returns the name under which the field f is stored.
func (b *builder) storedAs(f *types.Var) string {
	s := b.model.Type.Underlying().(*types.Struct)
	for i := range s.NumFields() {
		if s.Field(i) == f {
			return storedName(f, s.Tag(i))
		}
	}
	return f.Name()
}

func (b *builder) fieldNames() []string {
	var names []string
	for f := range b.fields() {
		names = append(names, f.Name())
	}
	return names
}

// fields yields the stored fields of the model.
func (b *builder) fields() func(yield func(*types.Var) bool) {
	s := b.model.Type.Underlying().(*types.Struct)
	return func(yield func(*types.Var) bool) {
		for i := range s.NumFields() {
			if stored(s.Field(i), s.Tag(i)) && !yield(s.Field(i)) {
				return
			}
		}
	}
}

// useModel takes what the model clause says.
func (b *builder) useModel(m member, c Clause) {
	if b.draft.tagOf("model") != m.tagged {
		b.at(m.text.pos(c.Offset), "%s has two model clauses; say all in one", b.model.Name)
		return
	}
	if c.Has("version") {
		b.model.Version, _ = strconv.Atoi(c.Get("version"))
	}
	if name := c.Get("if"); name != "" {
		b.model.If = b.quietCondition(name)
	}
}

// useID takes the field m as the id, or as a part of it.
func (b *builder) useID(m member, c Clause) {
	b.needStored(m, c)
	b.model.ID = append(b.model.ID, m.Part)
	if len(b.model.ID) > 1 && keyStruct(m.Type) != nil || len(b.model.ID) > 1 && keyStruct(b.model.ID[0].Type) != nil {
		b.at(m.pos, "a part of an id cannot itself have parts; take its fields one by one")
	}
}

// useVersion takes the field m as the number of the record's changes.
func (b *builder) useVersion(m member, c Clause) { b.fill(&b.model.VersionField, m, c) }

// useCreated takes the field m as the time of the record's creation.
func (b *builder) useCreated(m member, c Clause) { b.fill(&b.model.Created, m, c) }

// useUpdated takes the field m as the time of the record's last change.
func (b *builder) useUpdated(m member, c Clause) { b.fill(&b.model.Updated, m, c) }

// useExpires takes the field m as the time at which the record ends.
func (b *builder) useExpires(m member, c Clause) { b.fill(&b.model.Expires, m, c) }

// fill makes m the field that the library fills in for c.
func (b *builder) fill(place *string, m member, c Clause) {
	b.needStored(m, c)
	if *place != "" {
		b.at(m.text.pos(c.Offset), "%s already has a %s field: %s", b.model.Name, c.Word, *place)
	}
	*place = m.Name
}

// useSkip leaves the field m out of what is stored.
func (b *builder) useSkip(m member, c Clause) {
	if len(m.clauses) > 1 {
		b.at(m.text.pos(c.Offset), "- leaves %s out of what is stored, so no other clause can stand beside it", m.Name)
	}
}

// needStored reports that c stands on a field that is not stored.
func (b *builder) needStored(m member, c Clause) {
	if !m.Method && b.field(m.Name) == nil {
		b.at(m.text.pos(c.Offset), "%s cannot stand on %s, which is not stored", c.Word, m.Name)
	}
}

// useIndex adds the index that c asks for on m; a group is added with its first member.
func (b *builder) useIndex(m member, c Clause) {
	b.needStored(m, c)
	x := &Index{Model: b.model, Clause: c, pos: m.text.pos(c.Offset), Parts: []Part{m.Part}, Value: m.Type}
	if s, ok := m.Type.Underlying().(*types.Slice); ok {
		x.Value, x.Many = s.Elem(), true
	}
	if c.Value != "" && !b.join(x, m, c) {
		return
	}
	if name := c.Get("if"); name != "" {
		x.If = b.quietCondition(name)
	}
	x.Name = c.word.emit.name(x)
	if name := c.Get("name"); name != "" {
		x.Name = name
	}
	x.Stored = x.Name
	if was := c.Get("was"); was != "" {
		x.Stored = was
	}
	b.model.Indexes = append(b.model.Indexes, x)
}

// join makes x the index of the group that c names, and reports whether m is
// the group's first member, with which the index is added.
func (b *builder) join(x *Index, m member, c Clause) bool {
	key := b.draft.group(c.Value)
	if x.Many || keyStruct(m.Type) != nil {
		b.at(x.pos, "%s cannot be in the group %s: a member is a string, an integer or a bool", m.Label(), c.Value)
		return false
	}
	if key.parts[0] != m.tagged {
		if len(c.Options) > 0 {
			b.at(x.pos, "the options of the group %s stand on its first member, %s", c.Value, key.parts[0].name)
		}
		return false
	}
	switch n := len(key.parts); {
	case n == 1:
		b.at(x.pos, "the group %s has one member only: put unique=%s on the others too, or drop the =%s", c.Value, c.Value, c.Value)
		return false
	case n > maxParts:
		b.at(x.pos, "the group %s has %d members; a key has at most %d", c.Value, n, maxParts)
		return false
	}
	x.Parts, x.Value = b.parts(key), b.source.named(key.name)
	b.model.Keys = append(b.model.Keys, Key{key.name, key.about, x.Parts, x.Value})
	return x.Value != nil
}

// group returns the key type of the unique group.
func (d *draft) group(name string) *keyDecl {
	members := d.members(name)
	for _, k := range d.keys {
		if len(k.parts) == len(members) && k.parts[0] == members[0] && k.name != d.names.id {
			return k
		}
	}
	return nil
}

// parts returns what key is made of, with types.
func (b *builder) parts(key *keyDecl) []Part {
	var parts []Part
	for _, t := range key.parts {
		if m, ok := b.member(t); ok {
			parts = append(parts, m.Part)
		}
	}
	return parts
}

// quietCondition returns the condition called name, nil if it was reported.
func (b *builder) quietCondition(name string) *Condition {
	quiet := *b
	quiet.reporter = &reporter{fset: b.fset, dir: b.dir}
	return quiet.condition(name, token.NoPos)
}

// finishID settles the type of the id.
func (b *builder) finishID() {
	m := b.model
	switch n := len(m.ID); {
	case n == 0 && (b.draft.tagOf("id") != nil || b.draft.tagOf("events") != nil || b.draft.faulty()):
		return // Events have no id; the others have a fault that has been reported.
	case n == 0:
		b.at(m.pos, "%s has no id: put `kv:\"id\"` on a field, or on several; tags of embedded structs do not count", m.Name)
	case n == 1:
		m.IDType = m.ID[0].Type
	case n > maxParts:
		b.at(m.pos, "the id of %s has %d fields; a key has at most %d", m.Name, n, maxParts)
	default:
		m.IDType = b.source.named(b.draft.names.id)
		key := Key{b.draft.names.id, "the id of " + article(m.Name), m.ID, m.IDType}
		m.Keys = append([]Key{key}, m.Keys...)
	}
}

// faulty reports whether a tag of d has a fault.
func (d *draft) faulty() bool {
	return slices.ContainsFunc(d.tags, func(t *tagged) bool { return t.faulty })
}

// finishIndexes reports indexes whose names clash.
func (b *builder) finishIndexes() {
	taken := map[string]string{}
	for _, name := range recordMethods {
		taken[name] = "kvmodel.Records has " + name
	}
	for name, pos := range b.source.methods(b.model.Collection) {
		taken[name] = "a method at " + b.place(pos).String() + " is called " + name
	}
	storedAs := map[string]bool{}
	for _, x := range b.model.Indexes {
		if other, ok := taken[x.Name]; ok {
			b.at(x.pos, "the index %s of %s cannot be called so, since %s: say name=...", x.Name, b.model.Name, other)
		} else if storedAs[x.Stored] {
			b.at(x.pos, "two indexes of %s are stored as %s: say another name= or was=", b.model.Name, x.Stored)
		}
		taken[x.Name] = "another index is called " + x.Name
		storedAs[x.Stored] = true
	}
}

// methods returns the methods that people declare on the type called name.
func (s *source) methods(name string) map[string]token.Pos {
	found := map[string]token.Pos{}
	for _, f := range s.files {
		for _, decl := range f.syntax.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && receiver(fn) == name {
				found[fn.Name.Name] = fn.Name.Pos()
			}
		}
	}
	return found
}

// hooks are the methods that the library looks for on a model.
var hooks = map[string]string{
	"Validate": "func() error",
	"Upgrade":  "func(from int) error",
}

// checkHooks reports methods that the library would look for in vain.
func (b *builder) checkHooks() {
	methods := types.NewMethodSet(types.NewPointer(b.model.Type))
	for _, name := range slices.Sorted(maps.Keys(hooks)) {
		want, m := hooks[name], methods.Lookup(b.source.types, name)
		if m == nil {
			continue
		}
		if got := m.Obj().(*types.Func).Signature(); !sameShape(got, want) {
			b.at(m.Obj().Pos(), "%s of %s has to be %s to be called by the library", name, b.model.Name, want)
		}
	}
}

// sameShape reports whether sig is want, whatever its parameters are called.
func sameShape(sig *types.Signature, want string) bool {
	if sig.Results().Len() != 1 || sig.Results().At(0).Type().String() != "error" {
		return false
	}
	if want == "func() error" {
		return sig.Params().Len() == 0
	}
	return sig.Params().Len() == 1 && types.Identical(sig.Params().At(0).Type(), types.Typ[types.Int])
}

// typeName returns t as the package would write it.
func (b *builder) typeName(t types.Type) string {
	return types.TypeString(t, types.RelativeTo(b.source.types))
}
