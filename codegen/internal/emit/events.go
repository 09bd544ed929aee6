package emit

import (
	"fmt"
	"time"

	"github.com/ringtree/ringtree/codegen/internal/model"
)

// eventLayouts says what the library calls a layout.
var eventLayouts = map[string]string{"append": "Appended", "ring": "Numbered", "packed": "Packed"}

// eventsLine returns what the events are, for the comment and the plan.
func eventsLine(m *model.Model) string {
	e := m.Events
	text := fmt.Sprintf("the last %d %s of each %s", e.Keep, m.Collection, e.By.Label())
	if e.Once != nil {
		text += fmt.Sprintf(", each %s once", e.Once.Label())
	}
	if e.TTL > 0 {
		text += fmt.Sprintf(", for %v", e.TTL)
	}
	return text
}

// eventsTrips returns what the verbs cost.
func eventsTrips(e *model.Events) string {
	push := 1
	if e.Layout != "append" {
		push = 2
	}
	return fmt.Sprintf("Push %d for any 500 owners, Latest 1, Unread 1, Clear 1", push)
}

func eventsDoc(m *model.Model) []string {
	return []string{
		fmt.Sprintf("%s holds %s, newest first.", m.Collection, eventsLine(m)),
		"Trips: " + eventsTrips(m.Events) + ".",
	}
}

// events writes the type that holds the events m, and the function that makes it.
func (w *printer) events(m *model.Model) {
	timeline, kvmodel := w.names.runtime("timeline"), w.names.runtime("kvmodel")
	e, typ, v, owner := m.Events, m.Type.Obj().Name(), variable(m), w.names.typeString(m.Events.By.Type)
	w.printf("// %s\n// %s\n", eventsDoc(m)[0], eventsDoc(m)[1])
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
