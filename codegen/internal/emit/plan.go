package emit

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/ringtree/ringtree/codegen/internal/english"
	"github.com/ringtree/ringtree/codegen/internal/model"
)

func doc(m *model.Model) []string {
	held := "and the indexes kept over them"
	if len(m.Indexes) == 0 {
		held = "by " + english.List(model.Labels(m.ID))
	}
	lines := []string{fmt.Sprintf("%s holds the %s records of a database %s.", m.Collection, m.Name, held)}
	if m.If != nil && len(m.Indexes) > 0 {
		lines = append(lines, fmt.Sprintf("Indexes hold the %s that are %s, unless their line says otherwise.", m.Collection, m.If.Name))
	}
	if m.Relaxed {
		lines = append(lines, "A change need not wait for the disk: see kvmodel.Relaxed.")
	}
	if len(m.Children) > 0 {
		lines = append(lines, "After the reply to Delete, "+children(m)+".")
	}
	return append(lines, "Trips: "+trips(m)+".")
}

func totalLine(m *model.Model) string {
	text := "how many " + m.Collection + " there are"
	if m.If != nil && len(m.Indexes) > 0 {
		text += ", " + m.If.Name + " or not"
	}
	return text
}

func children(m *model.Model) string {
	var all []string
	for _, x := range m.Children {
		all = append(all, "its "+x.Model.Collection+" in "+x.Name)
	}
	return english.List(all) + " are deleted, too"
}

func trips(m *model.Model) string {
	create, update, listing, again := 2, map[int]bool{2: true}, "", ""
	switch {
	case m.History > 0:
		create, update = 3, map[int]bool{3: true}
	case m.Sequential && len(m.Indexes) == 0:
		create = 1
	}
	deepest := 0 // trips of indexes before the record commits
	for _, x := range m.Indexes {
		e := emissions[x.Word]
		trips, _ := e.entering(x)
		deepest, update[2+trips] = max(deepest, trips), true
		if e.listing {
			listing = "; a listing 2, or 1 if nothing is new"
		}
	}
	if len(m.ID) > 1 {
		again = " (1 if it exists)"
	}
	create = max(create, 1+deepest)
	return fmt.Sprintf("Get 1, Create %d%s, Update %s%s, Delete 2%s%s", create, again, oneOf(update), touchTrips(m), firstTrips(m, create, deepest), listing)
}

func touchTrips(m *model.Model) string {
	switch {
	case m.Expires == "":
		return ""
	case len(m.Indexes) == 0:
		return ", Touch 2"
	}
	return ", Touch 2 or 3"
}

// oneOf writes 2, 2 or 3, 2 to 4.
func oneOf(numbers map[int]bool) string {
	all := slices.Sorted(maps.Keys(numbers))
	switch least, most := all[0], all[len(all)-1]; len(all) {
	case 1:
		return strconv.Itoa(least)
	case 2:
		return fmt.Sprintf("%d or %d", least, most)
	default:
		return fmt.Sprintf("%d to %d", least, most)
	}
}

// firstTrips returns the cost of the first record in a list, a timeline or a ranking of one value,
// if that is more than create. deepest is the trips of indexes before the commit.
func firstTrips(m *model.Model, create, deepest int) string {
	var words []string
	most := 0
	for _, x := range m.Indexes {
		if _, first := emissions[x.Word].entering(x); first > deepest {
			words, most = append(words, x.Word), max(most, first)
		}
	}
	if len(words) == 0 {
		return ""
	}
	slices.Sort(words)
	words, upTo := slices.Compact(words), ""
	if len(words) > 1 {
		upTo = "up to "
	}
	return fmt.Sprintf("; with a new %s Create %s%d, Update %[2]s%[4]d", english.Or(words), upTo, max(create, 1+most), 2+most)
}

// Plan returns the models of the package, and the cost in trips of each way to access them.
func Plan(p *model.Package) string {
	var b strings.Builder
	for _, m := range p.Models {
		if m.Events != nil {
			fmt.Fprintf(&b, "%s.%s: %s\n  %s\n", p.Path, m.Collection, eventsLine(m), eventsTrips(m.Events))
			continue
		}
		fmt.Fprintf(&b, "%s.%s: %s by %s, version %d\n  %s\n", p.Path, m.Collection, m.Name, english.List(model.Labels(m.ID)), m.Version, trips(m))
		if m.Relaxed {
			b.WriteString("  a change need not wait for the disk\n")
		}
		if len(m.Children) > 0 {
			fmt.Fprintf(&b, "  after Delete %s\n", children(m))
		}
		w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
		if m.Total {
			fmt.Fprintf(w, "  Count\t%s\t1\n", totalLine(m))
		}
		for _, h := range handles(m, newImports(p.Types, map[string]bool{})) {
			if len(h.parts) == 0 {
				fmt.Fprintf(w, "  %s\t%s\t%s\n", h.name, h.line+h.reads, h.read)
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
