package resolve

import (
	"go/token"

	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/problem"
	"github.com/ringtree/ringtree/codegen/internal/stored"
	"github.com/ringtree/ringtree/codegen/internal/tag"
)

// usePrivate reports an m that is no plain value in the record.
func (b *builder) usePrivate(m member, c tag.Clause) {
	switch {
	case b.says(m.Name, "id"):
		b.At(m.at(c), "private is not allowed on %s: an id is part of keys, which nothing masks", m.Name)
	case b.countsOn(m.Name):
		b.At(m.at(c), "private is not allowed on %s: a counter is stored outside the record, and nothing masks it", m.Name)
	default:
		b.needStored(m, c)
	}
}

// settlePrivate looks at types, not clauses: the word may stand in structs within a record.
func settlePrivate(p *model.Package) {
	// Problems with types are reported when the codecs are written.
	f := &stored.Forms{Reporter: &problem.Reporter{Fset: token.NewFileSet()}, Pkg: p.Types, Writes: p.Has}
	for _, m := range p.Models {
		m.Private = f.Private(m.Type)
	}
}
