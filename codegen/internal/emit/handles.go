package emit

import (
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/codegen/internal/model"
)

type handle struct {
	name, typ, make, line, read string

	reads string

	// parts are the fields of a handle that is a struct, the first embedded. They are made in
	// order, in c, the collection.
	parts []handle
}

func handles(m *model.Model, n *imports) []handle {
	var all []handle
	args := n.typeString(m.Type) + ", " + n.typeString(m.IDType)
	if m.History > 0 {
		until := ""
		if m.Forget {
			until = ", until that is deleted"
		}
		all = append(all, handle{
			name: "History", typ: fmt.Sprintf("*%s.History[%s]", n.runtime("kvmodel"), args),
			make: n.runtime("kvmodel") + ".NewHistory(r)",
			line: fmt.Sprintf("the last %d bodies of each %s%s", m.History, m.Name, until),
			read: "Of 1; Restore 1 more than Update",
		})
	}
	if m.Sequential {
		all = append(all, handle{
			name: "Sequence", typ: fmt.Sprintf("*%s.Sequence[%s]", n.runtime("index"), n.typeString(m.Type)),
			make: n.runtime("index") + ".SequenceOf(r)",
			line: fmt.Sprintf("the %s by their numbers", m.Collection),
			read: "Page 1; Count 1 when warm",
		})
	}
	for _, x := range m.Indexes {
		e := emissions[x.Word]
		line := e.line(x)
		if x.If != nil {
			line += "; if " + x.If.Name
		}
		h := handle{name: x.Name, typ: e.typ(x, n), make: e.make(x, n), line: line, read: e.read, reads: readsLine(x)}
		if x.Values {
			h = withValues(x, h, n)
		}
		all = append(all, h)
	}
	for _, c := range m.Counters {
		typ := "Counter"
		if c.List != nil {
			typ = "DerivedCount"
		}
		all = append(all, handle{
			name: c.Name, typ: fmt.Sprintf("*%s.%s[%s]", n.runtime("index"), typ, n.typeString(m.IDType)),
			make: fmt.Sprintf("%s.New%s(r, %q)", n.runtime("index"), typ, c.Stored),
			line: counterLine(c), read: counterTrips(c),
		})
	}
	return all
}

type batch struct{ name, words string }

var batches = map[string]batch{
	"window":  {"Windowed", "rankings follow within a second"},
	"sampled": {"Sampled", "rankings follow one change in many"},
	"every":   {"Every", "rankings follow before the reply"},
}

func tally(c *model.Counter) string {
	of := "Tally"
	switch {
	case c.Sum:
		of = "Sum"
	case c.List != nil:
		of = "Derived"
	}
	return fmt.Sprintf("db.%s(%q, %q)", of, c.Model.Stored, c.Stored)
}

func counterLine(c *model.Counter) string {
	text := "outside of the record, filled in when that is loaded"
	if c.List != nil {
		i := slices.IndexFunc(c.List.Numbers, func(n *model.Number) bool { return n.Counter == c })
		what := "the size of"
		if summand := c.List.Numbers[i].Summand(); c.Sum {
			what = "the sum of " + summand + " over"
		} else if summand != "" {
			what = "how many " + summand + " are in"
		}
		text = fmt.Sprintf("%s its list in %s.%s, filled in when the record is loaded", what, c.List.Model.Collection, c.List.Name)
	}
	if len(c.Followers()) > 0 {
		text += "; " + batches[c.Batch].words
	}
	return text
}

// A ranking that follows before the reply takes six trips, and one more to find out its owner.
func counterTrips(c *model.Counter) string {
	if c.List != nil {
		return "Get 1"
	}
	add := 1
	for _, x := range c.Followers() {
		if c.Batch != "every" {
			break
		}
		if add += 6; x.Ranking.By != nil {
			add++
		}
	}
	return fmt.Sprintf("Hit and Add %d, or %d the first time; Get 1", add, add+1)
}
