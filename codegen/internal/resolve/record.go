package resolve

import (
	"cmp"
	"time"

	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/stored"
	"github.com/ringtree/ringtree/codegen/internal/tag"
)

func (b *builder) useModel(m member, c tag.Clause) {
	if b.draft.TagOf("model") != m.tagged {
		b.At(m.at(c), "%s has two model clauses; merge them", b.model.Name)
		return
	}
	b.model.Version = c.Number("version", b.model.Version)
	b.model.History = c.Number("history", 0)
	b.model.Forget = c.Has("forget")
	b.model.Relaxed = c.Has("relaxed")
	b.model.Total, b.model.TotalAt = c.Has("count"), m.at(c)
	b.model.If = b.condition(c.Get("if"))
}

func (b *builder) useID(m member, c tag.Clause) {
	b.needStored(m, c)
	b.model.ID = append(b.model.ID, m.Part)
	b.model.Sequential = b.model.Sequential || c.Has("seq")
	if len(b.model.ID) > 1 && stored.KeyStruct(m.Type) != nil || len(b.model.ID) > 1 && stored.KeyStruct(b.model.ID[0].Type) != nil {
		b.At(m.tagged.Pos, "a part of an id cannot itself have parts; take its fields one by one")
	}
}

// fill notes the name of a field that the library fills in.
func fill(place func(*model.Model) *string) func(b *builder, m member, c tag.Clause) {
	return func(b *builder, m member, c tag.Clause) {
		b.needStored(m, c)
		name := place(b.model)
		if *name != "" {
			b.At(m.at(c), "%s already has a %s field: %s", b.model.Name, c.Word, *name)
		}
		*name = m.Name
	}
}

func (b *builder) useSkip(m member, c tag.Clause) {
	if len(m.tagged.Clauses) > 1 {
		b.At(m.at(c), "- leaves %s out of the record, so no other clause is allowed with it", m.Name)
	}
}

func (b *builder) finishID() {
	m := b.model
	switch n := len(m.ID); {
	case n == 0 && (b.draft.TagOf("id") != nil || b.draft.TagOf("events") != nil || b.draft.Faulty()):
		return // Events have no id; for others a problem has been reported.
	case n == 0:
		b.At(m.Pos, "%s has no id: put `kv:\"id\"` on a field, or on several; tags of embedded structs do not count", m.Name)
	case n == 1:
		m.IDType = m.ID[0].Type
	case n > stored.MaxParts:
		b.At(m.Pos, "the id of %s has %d fields; a key has at most %d", m.Name, n, stored.MaxParts)
	default:
		key := b.draft.KeyOf(tag.Clause{})
		if named := b.source.Named(key.Name); named != nil {
			m.IDType = named
		}
		m.Keys = append([]model.Key{{Name: key.Name, About: key.About, Parts: m.ID}}, m.Keys...)
	}
}

const eventsKept = 100

func (b *builder) useEvents(m member, c tag.Clause) {
	at := m.at(c)
	by := b.option(c, "by")
	if by == nil {
		b.At(at, "events wants by=Field: the field that says whose events they are")
		return
	}
	for _, t := range b.draft.Tags {
		for _, other := range t.Clauses {
			if other.Word != "events" && other.Word != "-" {
				b.At(t.Text.Pos(other.Offset), "%s is not allowed in %s: events have no id and no indexes", other.Word, b.model.Name)
			}
		}
	}
	b.model.Events = &model.Events{
		By: *by, Once: b.option(c, "once"), Keep: c.Number("keep", eventsKept), Layout: cmp.Or(c.Get("layout"), "append"),
	}
	b.model.Events.TTL, _ = time.ParseDuration(c.Get("ttl"))
}

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

// finishPrivate looks at types, not clauses: the word may stand in structs within a record.
func finishPrivate(p *model.Package) {
	f := stored.Quiet(p.Types, p.Has)
	for _, m := range p.Models {
		m.Private = f.Private(m.Type)
	}
}
