package resolve

import (
	"cmp"
	"time"

	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/tag"
)

// eventsKept is how many events an owner has where the tag does not say.
const eventsKept = 100

// useEvents makes the model one of events.
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
				b.At(t.Text.Pos(other.Offset), "%s cannot stand in %s: events have no id and no indexes", other.Word, b.model.Name)
			}
		}
	}
	b.model.Events = &model.Events{
		By: *by, Once: b.option(c, "once"), Keep: c.Number("keep", eventsKept), Layout: cmp.Or(c.Get("layout"), "append"),
	}
	b.model.Events.TTL, _ = time.ParseDuration(c.Get("ttl"))
}
