package codegen

import (
	"cmp"
	"fmt"
	"time"
)

// Events is what a model without id is: values that are kept in rings of their
// owners.
type Events struct {
	By     Part
	Once   *Part // nil: every one counts
	Keep   int
	Layout string
	TTL    time.Duration
}

// eventsKept is how many events an owner has where the tag does not say.
const eventsKept = 100

// eventLayouts says what the library calls a layout.
var eventLayouts = map[string]string{"append": "Appended", "ring": "Numbered", "packed": "Packed"}

// useEvents takes what the events clause says.
func (b *builder) useEvents(m member, c Clause) {
	at := m.text.pos(c.Offset)
	by := b.field(c.Get("by"))
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
	e := &Events{By: Part{by.Name(), b.storedAs(by), by.Type(), false}}
	if once := b.field(c.Get("once")); once != nil {
		e.Once = &Part{once.Name(), b.storedAs(once), once.Type(), false}
		if wrong := comparableType(once.Type()); wrong != "" {
			b.at(at, "once=%s: it is of type %s: %s", once.Name(), describe(once.Type(), b.source.types), wrong)
		}
	}
	e.Keep = optionNumber(c, "keep", eventsKept)
	e.Layout = cmp.Or(c.Get("layout"), "append")
	e.TTL, _ = time.ParseDuration(c.Get("ttl"))
	b.model.Events = e
}

// line returns what the events are, for the comment and the plan.
func (e *Events) line(m *Model) string {
	text := fmt.Sprintf("the last %d %s of each %s", e.Keep, m.Collection, e.By.Label())
	if e.Once != nil {
		text += fmt.Sprintf(", each %s once", e.Once.Label())
	}
	if e.TTL > 0 {
		text += fmt.Sprintf(", for %v", e.TTL)
	}
	return text
}

// trips returns what the verbs cost.
func (e *Events) trips() string {
	push := 1
	if e.Layout != "append" {
		push = 2
	}
	return fmt.Sprintf("Push %d for any 500 owners, Latest 1, Unread 1, Clear 1", push)
}

func (e *Events) doc(m *Model) []string {
	return []string{
		fmt.Sprintf("%s holds %s, newest first.", m.Collection, e.line(m)),
		"Trips: " + e.trips() + ".",
	}
}

// locked returns what the lock file says of the events: a change of their keys
// or layout would leave them behind.
func (e *Events) locked() lockedItem {
	return lockedItem{name: e.By.Stored, form: keyKind(e.By.Type) + " events " + e.Layout}
}

// events writes the type that holds the events m, and the function that makes it.
func (w *printer) events(m *Model) {
	timeline, kvmodel := w.names.runtime("timeline"), w.names.runtime("kvmodel")
	e, typ, v, owner := m.Events, m.Type.Obj().Name(), m.receiver(), w.names.typeString(m.Events.By.Type)
	w.printf("// %s\n// %s\n", e.doc(m)[0], e.doc(m)[1])
	w.printf("type %s struct {\n*%s.Events[%s, %s]\n}\n\n", m.Collection, timeline, typ, owner)
	w.printf("// New%s returns the %s in db.\nfunc New%s(db *%s.DB) *%s {\n", m.Collection, m.Collection, m.Collection, kvmodel, m.Collection)
	w.printf("return &%s{%s.NewEvents(db, %s.EventsSpec[%s, %s]{\n", m.Collection, timeline, timeline, typ, owner)
	w.printf("Name: %q, Key: %s,\nBy: func(%s *%s) %s { return %s },\n", m.Stored, keyExpr(e.By.Type, w.names), v, typ, owner, e.By.Expr(v))
	if e.Once != nil {
		w.printf("Once: func(%s *%s) string { return %s.Text(%s) },\n", v, typ, timeline, e.Once.Expr(v))
	}
	w.printf("Codec: &%s,\nKeep: %d, Layout: %s.%s,", w.codecs.codecName(m.Type), e.Keep, timeline, eventLayouts[e.Layout])
	if e.TTL > 0 {
		w.printf(" TTL: %d * %s.Second,", int64(e.TTL/time.Second), w.names.add("time", "time"))
	}
	w.printf("\n})}\n}\n\n")
}
