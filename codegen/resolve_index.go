package codegen

import (
	"cmp"
	"fmt"
	"go/types"
	"strings"
)

// useIndex adds the index that c asks for on m; a group is added with its first member.
func (b *builder) useIndex(m member, c Clause, meaning meaning) {
	if c.Word != "ranking" || !b.countsOn(m.Name) {
		b.needStored(m, c)
	}
	x := &Index{Model: b.model, Word: c.Word, Group: c.Value, Parts: []Part{m.Part}, Value: m.Type, Pos: m.text.pos(c.Offset)}
	if s, ok := m.Type.Underlying().(*types.Slice); ok {
		x.Value, x.Many = s.Elem(), true
	}
	if c.Value != "" && !b.join(x, m, c) {
		return
	}
	x.If = b.condition(c.Get("if"))
	if meaning.settle != nil {
		meaning.settle(b, x, c)
	}
	x.Name = cmp.Or(c.Get("name"), meaning.name(x))
	x.Stored = cmp.Or(c.Get("was"), x.Name)
	b.model.Indexes = append(b.model.Indexes, x)
}

// join makes x the index of the group that c names, and reports whether m is
// the group's first member, with which the index is added.
func (b *builder) join(x *Index, m member, c Clause) bool {
	key := b.draft.keyOf(groupOf(c))
	if x.Many || keyStruct(m.Type) != nil {
		b.at(x.Pos, "%s cannot be in the group %s: a member is a string, an integer or a bool", m.Label(), c.Value)
		return false
	}
	if key.parts[0] != m.tagged {
		if len(c.Options) > 0 {
			b.at(x.Pos, "the options of the group %s stand on its first member, %s", c.Value, key.parts[0].name)
		}
		return false
	}
	switch n := len(key.parts); {
	case n == 1:
		b.at(x.Pos, "the group %s has one member only: put %s=%s on the others too, or drop the =%s", c.Value, c.Word, c.Value, c.Value)
		return false
	case n > maxParts:
		b.at(x.Pos, "the group %s has %d members; a key has at most %d", c.Value, n, maxParts)
		return false
	}
	x.Parts, x.Value = b.parts(key), b.source.named(key.name)
	b.model.Keys = append(b.model.Keys, Key{key.name, key.about, x.Parts})
	return x.Value != nil
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

// settleList settles how many segments each list of x starts with.
func (b *builder) settleList(x *Index, c Clause) { x.Hot = c.Number("hot", 0) }

// bySubject names x after its field, method or group.
func bySubject(x *Index) string { return "By" + cmp.Or(x.Group, capital(x.Parts[0].Name)) }

// partsDef returns that the entries of x are its parts.
func partsDef(x *Index) string {
	names := make([]string, len(x.Parts))
	for i, p := range x.Parts {
		names[i] = p.Stored
	}
	text := fmt.Sprintf("%s %s %s", x.Word, strings.Join(names, ","), keyKind(x.Value))
	if x.Many {
		text += " each"
	}
	return text
}
