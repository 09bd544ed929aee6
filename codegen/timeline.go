package codegen

import (
	"fmt"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// A Ring is what a timeline has besides: whose it is and its shape.
type Ring struct {
	By     *Part // nil: there is one for all records
	Shape  RingShape
	Before []RingShape // what it was, by the lock file: entries in them are still read
	Shards int
}

// A RingShape is how many places a ring has and how many of them share a key.
type RingShape struct{ Size, Segment int }

// The size and the segment of a ring that does not say its own.
const (
	ringSize    = 1024
	ringSegment = 64
)

var timelineEmission = &emission{
	name: func(x *Index) string {
		if x.Ring.By != nil {
			return "NewestBy" + capital(x.Ring.By.Name)
		}
		return "Newest"
	},
	typ:  ringType,
	make: makeRing,
	line: func(x *Index) string {
		what := "last change of " + list(labels(x.Parts)) + " first"
		if x.Ring.By != nil {
			return fmt.Sprintf("%s, per %s; newest %d of each", what, x.Ring.By.Label(), x.Ring.Shape.Size)
		}
		return fmt.Sprintf("%s; newest %d", what, x.Ring.Shape.Size)
	},
	def:     ringDefinition,
	read:    "Page 2, or 3 the first time; Head and Since 1",
	listing: true,
}

// useTimeline settles whose timeline x is, and its shape.
func (b *builder) useTimeline(x *Index) {
	x.Ring = &Ring{Shards: 1}
	if f := b.field(x.Clause.Get("by")); f != nil {
		x.Ring.By = &Part{f.Name(), b.storedAs(f), f.Type(), false}
	}
	size, segment := optionNumber(x.Clause, "ring", ringSize), 0
	segment = optionNumber(x.Clause, "segment", min(ringSegment, max(1, size/8)))
	if segment > size {
		b.at(x.pos, "segment=%d of a ring of %d: a segment is a part of the ring", segment, size)
	}
	x.Ring.Shape = RingShape{size, segment}
	x.Ring.Shards = optionNumber(x.Clause, "shards", 1)
}

// optionNumber returns the value of the option called name, or otherwise if it is not given.
func optionNumber(c Clause, name string, otherwise int) int {
	n, err := strconv.Atoi(c.Get(name))
	if err != nil {
		return otherwise
	}
	return n
}

func ringType(x *Index, n *imports) string {
	if x.Ring.By == nil {
		return fmt.Sprintf("*%s.Ring[%s]", n.runtime("timeline"), n.typeString(x.Model.Type))
	}
	return fmt.Sprintf("*%s.Rings[%s, %s]", n.runtime("timeline"), n.typeString(x.Model.Type), n.typeString(x.Ring.By.Type))
}

func makeRing(x *Index, n *imports) string {
	timeline, typ, v := n.runtime("timeline"), x.Model.Type.Obj().Name(), x.Model.receiver()
	var b strings.Builder
	fmt.Fprintf(&b, "%s.Spec[%s]{\nName: %q, Def: %q,\n", timeline, typ, x.Stored, x.definition())
	fmt.Fprintf(&b, "Value: func(%s *%s) string { return %s.Text(%s) },", v, typ, timeline, x.Parts[0].Expr(v))
	if c := x.condition(); c != nil {
		fmt.Fprintf(&b, " If: %s,", c.expr(typ, v))
	}
	fmt.Fprintf(&b, "\nShape: %s,", x.Ring.Shape.expr(timeline+".Shape"))
	if len(x.Ring.Before) > 0 {
		fmt.Fprintf(&b, " Before: []%s.Shape{", timeline)
		for _, s := range x.Ring.Before {
			fmt.Fprintf(&b, "%s, ", s.expr(""))
		}
		b.WriteString("},")
	}
	if x.Ring.Shards > 1 {
		fmt.Fprintf(&b, " Shards: %d,", x.Ring.Shards)
	}
	b.WriteString("\n}")
	if x.Ring.By == nil {
		return fmt.Sprintf("%s.NewRing(r, %s)", timeline, b.String())
	}
	by := x.Ring.By
	return fmt.Sprintf("%s.NewRings(r, %s, %s, func(%s *%s) %s { return %s })",
		timeline, b.String(), keyExpr(by.Type, n), v, typ, n.typeString(by.Type), by.Expr(v))
}

func (s RingShape) expr(typ string) string {
	return fmt.Sprintf("%s{Size: %d, Segment: %d}", typ, s.Size, s.Segment)
}

// ringDefinition leaves the shape out: another one needs no rebuild.
func ringDefinition(x *Index) string {
	text := "timeline " + x.Parts[0].Stored
	if by := x.Ring.By; by != nil {
		text += fmt.Sprintf(" by %s %s", by.Stored, keyKind(by.Type))
	}
	if x.Ring.Shards > 1 {
		text += fmt.Sprintf(" shards %d", x.Ring.Shards)
	}
	if c := x.condition(); c != nil {
		text += " if " + c.Name
	}
	return text
}

// locked returns the shapes of r for the lock file, the present one first.
func (r *Ring) locked() string {
	var texts []string
	for _, s := range append([]RingShape{r.Shape}, r.Before...) {
		texts = append(texts, fmt.Sprintf("%dx%d", s.Size, s.Segment))
	}
	return strings.Join(texts, " ")
}

// recallShapes gives the timelines of p the shapes that they had according to
// old, so that entries in them are read on.
func (p *Package) recallShapes(r *reporter, old *lock) {
	for _, m := range p.Models {
		was := old.model(m.Stored)
		if was == nil {
			continue
		}
		for _, x := range m.Indexes {
			if item, ok := find(was.rings, x.Stored); ok && x.Ring != nil {
				if err := x.Ring.recall(item.form); err != nil {
					r.line(old.path, item.line, "%v; resolve the merge or undo the edit", err)
				}
			}
		}
	}
}

// recall adds the shapes that the lock file has for r.
func (r *Ring) recall(form string) error {
	for text := range strings.FieldsSeq(form) {
		var s RingShape
		if n, err := fmt.Sscanf(text, "%dx%d", &s.Size, &s.Segment); n != 2 || err != nil || s.Size < 1 || s.Segment < 1 {
			return fmt.Errorf("%q is no shape of a ring", text)
		}
		if s != r.Shape && !slices.Contains(r.Before, s) {
			r.Before = append(r.Before, s)
		}
	}
	return nil
}

// comparableType complains about a type whose values timeline.Text cannot tell apart.
func comparableType(t types.Type) string {
	if isTime(t) || keyType(t) == "" {
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if u.Info()&types.IsFloat != 0 {
			return ""
		}
	case *types.Slice:
		return comparableType(u.Elem())
	case *types.Array:
		return comparableType(u.Elem())
	}
	return "want what can be compared by its text: a string, a number, a bool, a time.Time, a key, or a slice of these"
}
