package codegen

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// doc returns the lines of the comment of the model's generated type: its access plan.
func (m *Model) doc() []string {
	if m.Events != nil {
		return m.Events.doc(m)
	}
	held := "and the indexes kept over them"
	if len(m.Indexes) == 0 {
		held = "by " + list(labels(m.ID))
	}
	lines := []string{fmt.Sprintf("%s holds the %s records of a database %s.", m.Collection, m.Name, held)}
	if m.If != nil && len(m.Indexes) > 0 {
		lines = append(lines, fmt.Sprintf("Indexes hold the %s that are %s, unless their line says otherwise.", m.Collection, m.If.Name))
	}
	return append(lines, "Trips: "+m.trips()+".")
}

// trips returns what the verbs of m cost before the reply.
func (m *Model) trips() string {
	create, listing := 2, ""
	moves := map[int]bool{} // what an update costs that moves an index
	for _, x := range m.Indexes {
		emit := x.Clause.word.emit
		if emit.deep != nil && emit.deep(x) {
			create = 3
			moves[4] = true
		} else {
			moves[3] = true
		}
		if emit.listing {
			listing = "; a listing 2 when warm"
		}
	}
	update := map[[2]bool]string{{}: "2", {true}: "2 or 3", {false, true}: "2 or 4", {true, true}: "2 to 4"}[[2]bool{moves[3], moves[4]}]
	again := ""
	if len(m.ID) > 1 {
		again = " (1 if it exists)"
	}
	if m.History > 0 && update == "2" {
		update = "3"
	}
	return fmt.Sprintf("Get 1, Create %d%s, Update %s, Delete 2%s", create, again, update, listing)
}

// comment returns what stands beside the records of m.
func (m *Model) comment() string {
	if m.Version == 1 {
		return ""
	}
	return fmt.Sprintf("// version %d", m.Version)
}

// line returns what x holds, for the comment beside it.
func (x *Index) line() string {
	text := x.Clause.word.emit.line(x)
	if x.If != nil {
		text += "; if " + x.If.Name
	}
	return text
}

// subject returns what x is named after: its field, method or group.
func (x *Index) subject() string {
	if x.Clause.Value != "" {
		return x.Clause.Value
	}
	return capital(x.Parts[0].Name)
}

// phrase returns what a record has to be found in x: "a Slug", "a value among Tags".
func (x *Index) phrase() string {
	what := list(labels(x.Parts))
	if x.Many {
		return "a value among " + what
	}
	return article(what)
}

// definition returns what the entries of x are, in terms of what is stored:
// when it changes, they have to be built anew.
func (x *Index) definition() string {
	if def := x.Clause.word.emit.def; def != nil {
		return def(x)
	}
	names := make([]string, len(x.Parts))
	for i, p := range x.Parts {
		names[i] = p.Stored
	}
	text := fmt.Sprintf("%s %s %s", x.Clause.Word, strings.Join(names, ","), keyKind(x.Value))
	if x.Many {
		text += " each"
	}
	if c := x.condition(); c != nil {
		text += " if " + c.Name
	}
	return text
}

// Plan returns the access plan of the package: what each model holds, and what
// each way to it costs in trips.
func (p *Package) Plan() string {
	var b strings.Builder
	for _, m := range p.Models {
		if m.Events != nil {
			fmt.Fprintf(&b, "%s.%s: %s\n  %s\n", p.Path, m.Collection, m.Events.line(m), m.Events.trips())
			continue
		}
		fmt.Fprintf(&b, "%s.%s: %s by %s, version %d\n  %s\n", p.Path, m.Collection, m.Name, list(labels(m.ID)), m.Version, m.trips())
		w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
		for _, h := range m.handles(newImports(p.source.types, map[string]bool{})) {
			fmt.Fprintf(w, "  %s\t%s\t%s\n", h.name, h.line, h.read)
		}
		w.Flush()
	}
	return b.String()
}
