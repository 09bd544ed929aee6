package codegen

import (
	"cmp"
	"time"
)

// eventsKept is how many events an owner has where the tag does not say.
const eventsKept = 100

// useEvents takes what the events clause says.
func (b *builder) useEvents(m member, c Clause) {
	at := m.text.pos(c.Offset)
	by := b.option(c, "by")
	if by == nil {
		b.at(at, "events wants by=Field: the field that says whose events they are")
		return
	}
	for _, t := range b.draft.tags {
		for _, other := range t.clauses {
			if other.Word != "events" && other.Word != "-" {
				b.at(t.text.pos(other.Offset), "%s cannot stand in %s: events have no id and no indexes", other.Word, b.model.Name)
			}
		}
	}
	b.model.Events = &Events{
		By: *by, Once: b.option(c, "once"), Keep: c.Number("keep", eventsKept), Layout: cmp.Or(c.Get("layout"), "append"),
	}
	b.model.Events.TTL, _ = time.ParseDuration(c.Get("ttl"))
}
