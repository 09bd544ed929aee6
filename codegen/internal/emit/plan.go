package emit

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
)

// doc returns the lines of the comment on the collection of m: its access plan.
func doc(m *model.Model) []string {
	held := "and the indexes kept over them"
	if len(m.Indexes) == 0 {
		held = "by " + english.List(labels(m.ID))
	}
	lines := []string{fmt.Sprintf("%s holds the %s records of a database %s.", m.Collection, m.Name, held)}
	if m.If != nil && len(m.Indexes) > 0 {
		lines = append(lines, fmt.Sprintf("Indexes hold the %s that are %s, unless their line says otherwise.", m.Collection, m.If.Name))
	}
	if len(m.Children) > 0 {
		lines = append(lines, "After the reply to Delete, "+children(m)+".")
	}
	return append(lines, "Trips: "+trips(m)+".")
}

// totalLine says what Count of m returns.
func totalLine(m *model.Model) string {
	text := "how many " + m.Collection + " there are"
	if m.If != nil && len(m.Indexes) > 0 {
		text += ", " + m.If.Name + " or not"
	}
	return text
}

// children says what a deletion in m takes along.
func children(m *model.Model) string {
	var all []string
	for _, x := range m.Children {
		all = append(all, "its "+x.Model.Collection+" in "+x.Name)
	}
	return english.List(all) + " are deleted, too"
}

// trips returns what the verbs of m cost before the reply.
func trips(m *model.Model) string {
	create, listing := 2, ""
	moves := map[int]bool{} // what an update costs that moves an index
	for _, x := range m.Indexes {
		e := emissions[x.Word]
		if e.deep != nil && e.deep(x) {
			create = 3
			moves[4] = true
		} else {
			moves[3] = true
		}
		if e.listing {
			listing = "; a listing 2, or 1 if nothing is new"
		}
	}
	update := map[[2]bool]string{{}: "2", {true}: "2 or 3", {false, true}: "2 or 4", {true, true}: "2 to 4"}[[2]bool{moves[3], moves[4]}]
	again := ""
	if len(m.ID) > 1 {
		again = " (1 if it exists)"
	}
	switch {
	case m.Sequential && len(m.Indexes) == 0:
		create = 1
	case m.History > 0 && len(m.Indexes) == 0:
		create, update = 3, "3"
	}
	touch := ""
	switch {
	case m.Expires == "":
	case len(m.Indexes) == 0:
		touch = ", Touch 2"
	default:
		touch = ", Touch 2 or 3"
	}
	return fmt.Sprintf("Get 1, Create %d%s, Update %s%s, Delete 2%s", create, again, update, touch, listing)
}

// Plan returns the access plan of the package: what each model holds, and what
// each way to it costs in trips.
func Plan(p *model.Package) string {
	var b strings.Builder
	for _, m := range p.Models {
		if m.Events != nil {
			fmt.Fprintf(&b, "%s.%s: %s\n  %s\n", p.Path, m.Collection, eventsLine(m), eventsTrips(m.Events))
			continue
		}
		fmt.Fprintf(&b, "%s.%s: %s by %s, version %d\n  %s\n", p.Path, m.Collection, m.Name, english.List(labels(m.ID)), m.Version, trips(m))
		if len(m.Children) > 0 {
			fmt.Fprintf(&b, "  after Delete %s\n", children(m))
		}
		w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
		if m.Total {
			fmt.Fprintf(w, "  Count\t%s\t1\n", totalLine(m))
		}
		for _, h := range handles(m, newImports(p.Types, map[string]bool{})) {
			if len(h.parts) == 0 {
				fmt.Fprintf(w, "  %s\t%s\t%s\n", h.name, h.line, h.read)
			}
			for i, part := range h.parts {
				name := h.name
				if i > 0 {
					name += "." + part.name
				}
				fmt.Fprintf(w, "  %s\t%s\t%s\n", name, part.line, part.read)
			}
		}
		w.Flush()
	}
	return b.String()
}
