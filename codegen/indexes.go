package codegen

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// useIndex adds the index that c asks for on m; a group is added with its first member.
func (b *builder) useIndex(m member, c Clause) {
	if c.Word != "ranking" || !b.countsOn(m.Name) {
		b.needStored(m, c)
	}
	x := &Index{Model: b.model, Clause: c, pos: m.text.pos(c.Offset), Parts: []Part{m.Part}, Value: m.Type}
	if s, ok := m.Type.Underlying().(*types.Slice); ok {
		x.Value, x.Many = s.Elem(), true
	}
	if c.Value != "" && !b.join(x, m, c) {
		return
	}
	x.If = b.condition(c.Get("if"))
	if c.word.also != nil {
		c.word.also(b, x)
	}
	x.Name = cmp.Or(c.Get("name"), c.word.emit.name(x))
	x.Stored = cmp.Or(c.Get("was"), x.Name)
	b.model.Indexes = append(b.model.Indexes, x)
}

// join makes x the index of the group that c names, and reports whether m is
// the group's first member, with which the index is added.
func (b *builder) join(x *Index, m member, c Clause) bool {
	key := b.draft.keyOf(groupOf(c))
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
		b.at(x.pos, "the group %s has one member only: put %s=%s on the others too, or drop the =%s", c.Value, c.Word, c.Value, c.Value)
		return false
	case n > maxParts:
		b.at(x.pos, "the group %s has %d members; a key has at most %d", c.Value, n, maxParts)
		return false
	}
	x.Parts, x.Value = b.parts(key), b.source.named(key.name)
	b.model.Keys = append(b.model.Keys, Key{key.name, key.about, x.Parts})
	return x.Value != nil
}

// keyOf returns the key type of g.
func (d *draft) keyOf(g group) *keyDecl {
	i := slices.IndexFunc(d.keys, func(k *keyDecl) bool { return k.group == g })
	return d.keys[i]
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

// finishIndexes reports indexes whose names clash.
func (b *builder) finishIndexes() {
	taken := map[string]string{}
	for _, name := range recordMethods {
		taken[name] = "kvmodel.Records has " + name
	}
	for name, pos := range b.source.methods(b.model.Collection) {
		taken[name] = "a method at " + b.place(pos).String() + " is called " + name
	}
	for _, x := range b.model.Counters {
		if other, ok := taken[x.Name]; ok {
			b.at(x.pos, "the counter %s of %s cannot be called so, since %s: say name=...", x.Name, b.model.Name, other)
		}
		taken[x.Name] = "a counter is called " + x.Name
	}
	if b.model.Sequential {
		taken["Sequence"] = "that is the records by their numbers"
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
