package emit

import (
	"fmt"
	"go/types"
	"strings"
	"time"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
	"github.com/ringtree/ringtree/codegen/internal/stored"
)

func timelineType(x *model.Index, n *imports) string {
	if x.Ring.By == nil {
		return fmt.Sprintf("*%s.Ring[%s]", n.runtime("timeline"), n.typeString(x.Model.Type))
	}
	return fmt.Sprintf("*%s.Rings[%s, %s]", n.runtime("timeline"), n.typeString(x.Model.Type), n.typeString(x.Ring.By.Value))
}

func makeTimeline(x *model.Index, n *imports) string {
	timeline, typ, v := n.runtime("timeline"), x.Model.Type.Obj().Name(), variable(x.Model)
	var b strings.Builder
	fmt.Fprintf(&b, "%s.Spec[%s]{\nName: %q, Def: %q,\n", timeline, typ, x.Stored, x.Def)
	if !standsByOwner(x) {
		fmt.Fprintf(&b, "Value: func(%s *%s) string { return %s.Text(%s) },", v, typ, timeline, x.Parts[0].Expr(v))
		fmt.Fprintf(&b, "\nHolds: func(%s *%s) bool { return %s },", v, typ, holdsExpr(x.Parts[0], v))
	}
	b.WriteString(condition(x, " "))
	if field := orderExpr(x, v); field != "" {
		fmt.Fprintf(&b, "\nOrder: func(%s *%s) any { return %s },", v, typ, field)
	}
	fmt.Fprintf(&b, "\nShape: %s,", timeline+".Shape"+shapeExpr(x.Ring.Shape))
	if x.Ring.Shards > 1 {
		fmt.Fprintf(&b, " Shards: %d,", x.Ring.Shards)
	}
	b.WriteString("\n}")
	if by := x.Ring.By; by != nil {
		return fmt.Sprintf("%s.NewRings(r, %s, %s)", timeline, b.String(), byExpr(x, by, n))
	}
	return fmt.Sprintf("%s.NewRing(r, %s)", timeline, b.String())
}

// If x is on the slice of its owners, a change of one owner does not move the record in the rings
// of others.
func standsByOwner(x *model.Index) bool {
	by := x.Ring.By
	return by != nil && by.Many && by.Parts[0].Name == x.Parts[0].Name
}

func holdsExpr(p model.Part, v string) string {
	switch u := p.Type.Underlying().(type) {
	case *types.Basic:
		if u.Info()&types.IsString != 0 {
			return p.Expr(v) + ` != ""`
		}
	case *types.Slice:
		return "len(" + p.Expr(v) + ") > 0"
	}
	if stored.IsTime(p.Type) {
		return "!" + p.Expr(v) + ".IsZero()"
	}
	return "true"
}

// orderExpr returns the field that orders old records in a build of x: its own if that is a time or
// an ascending number, else the creation time, or "".
func orderExpr(x *model.Index, v string) string {
	m, part := x.Model, x.Parts[0]
	isID := len(m.ID) == 1 && m.ID[0].Name == part.Name
	switch {
	case stored.IsTime(part.Type), isID && stored.IsBasic(part.Type, types.IsInteger):
		return part.Expr(v)
	case m.Created != "":
		return v + "." + m.Created
	}
	return ""
}

func shapeExpr(s model.RingShape) string {
	return fmt.Sprintf("{Size: %d, Segment: %d}", s.Size, s.Segment)
}

func timelineEntering(x *model.Index) (trips, first int) {
	if x.Ring.By == nil {
		return 1, 1
	}
	return 1, 4
}

func timelineLine(x *model.Index) string {
	what := "last change of " + english.List(model.Labels(x.Parts))
	if x.Condition() != nil {
		what += ", or return,"
	}
	what += " first"
	if x.Ring.By != nil {
		return fmt.Sprintf("%s%s; newest %d of each%s", what, byLine(x.Ring.By), x.Ring.Shape.Size, keptLine(x))
	}
	return fmt.Sprintf("%s; newest %d%s", what, x.Ring.Shape.Size, keptLine(x))
}

func keptLine(x *model.Index) string {
	if kept := x.Ring.Shape.Stored(); kept > x.Ring.Shape.Size {
		return fmt.Sprintf(" (it keeps %d)", kept)
	}
	return ""
}

var eventLayouts = map[string]string{"append": "Appended", "ring": "Numbered", "packed": "Packed"}

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

func eventsTrips(e *model.Events) string {
	push := map[string]string{"append": "1 or 2", "packed": "2", "ring": "2 to 5"}[e.Layout]
	return fmt.Sprintf("Push %s for any 500 owners, Latest 1, Unread 1, Clear 1", push)
}

func (w *printer) events(m *model.Model) {
	timeline, kvmodel := w.names.runtime("timeline"), w.names.runtime("kvmodel")
	e, typ, v, owner := m.Events, m.Type.Obj().Name(), variable(m), w.names.typeString(m.Events.By.Type)
	w.printf("// %s holds %s, newest first.\n// Trips: %s.\n", m.Collection, eventsLine(m), eventsTrips(e))
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
