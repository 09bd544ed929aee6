package codegen

// useModel takes what the model clause says.
func (b *builder) useModel(m member, c Clause) {
	if b.draft.tagOf("model") != m.tagged {
		b.at(m.text.pos(c.Offset), "%s has two model clauses; say all in one", b.model.Name)
		return
	}
	b.model.Version = c.Number("version", b.model.Version)
	b.model.History = c.Number("history", 0)
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

// fill returns the use of a word whose field the library fills in: its name goes
// to place.
func fill(place func(*Model) *string) func(b *builder, m member, c Clause) {
	return func(b *builder, m member, c Clause) {
		b.needStored(m, c)
		name := place(b.model)
		if *name != "" {
			b.at(m.text.pos(c.Offset), "%s already has a %s field: %s", b.model.Name, c.Word, *name)
		}
		*name = m.Name
	}
}

// useSkip leaves the field m out of what is stored.
func (b *builder) useSkip(m member, c Clause) {
	if len(m.clauses) > 1 {
		b.at(m.text.pos(c.Offset), "- leaves %s out of what is stored, so no other clause can stand beside it", m.Name)
	}
}

// finishID settles the type of the id.
func (b *builder) finishID() {
	m := b.model
	switch n := len(m.ID); {
	case n == 0 && (b.draft.tagOf("id") != nil || b.draft.tagOf("events") != nil || b.draft.faulty()):
		return // Events have no id; the others have a fault that has been reported.
	case n == 0:
		b.at(m.Pos, "%s has no id: put `kv:\"id\"` on a field, or on several; tags of embedded structs do not count", m.Name)
	case n == 1:
		m.IDType = m.ID[0].Type
	case n > maxParts:
		b.at(m.Pos, "the id of %s has %d fields; a key has at most %d", m.Name, n, maxParts)
	default:
		key := b.draft.keyOf(group{})
		m.IDType = b.source.named(key.name)
		m.Keys = append([]Key{{key.name, key.about, m.ID}}, m.Keys...)
	}
}
