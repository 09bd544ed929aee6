package codegen

import (
	"slices"
	"strconv"
	"strings"
)

// useModel takes what the model clause says.
func (b *builder) useModel(m member, c Clause) {
	if b.draft.tagOf("model") != m.tagged {
		b.at(m.text.pos(c.Offset), "%s has two model clauses; say all in one", b.model.Name)
		return
	}
	if c.Has("version") {
		b.model.Version, _ = strconv.Atoi(c.Get("version"))
	}
	b.model.History, _ = strconv.Atoi(c.Get("history"))
	b.model.If = b.condition(c.Get("if"))
}

// useID takes the field m as the id, or as a part of it.
func (b *builder) useID(m member, c Clause) {
	b.needStored(m, c)
	b.model.ID = append(b.model.ID, m.Part)
	b.model.Sequential = b.model.Sequential || c.Has("seq")
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
		key := Key{b.draft.names.id, "the id of " + article(m.Name), m.ID}
		m.Keys = append([]Key{key}, m.Keys...)
	}
}

// finishKept reports what cannot go together with how records are kept.
func (b *builder) finishKept() {
	m := b.model
	if m.Sequential && len(m.ID) == 1 && m.IDType != nil && !strings.HasSuffix(keyKind(m.IDType), "int") {
		b.at(m.pos, "the id of %s cannot be a sequence: that is one field of an integer type", m.Name)
	}
	if m.Sequential && m.Expires != "" {
		b.at(m.pos, "the records of %s cannot expire: what is gone would be a gap in the sequence of their ids", m.Name)
	}
	if m.History > 0 && m.Expires != "" {
		b.at(m.pos, "the records of %s cannot expire: their history is found by what stays of them", m.Name)
	}
}

// faulty reports whether a tag of d has a fault.
func (d *draft) faulty() bool {
	return slices.ContainsFunc(d.tags, func(t *tagged) bool { return t.faulty })
}
