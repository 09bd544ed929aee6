package pages

import (
	"slices"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/templates"
	"github.com/ringtree/ringtree/timeline"
)

// slots maps the states of a slot to what the picture shows.
var slots = map[timeline.Slot]templates.Slot{
	timeline.Free: templates.Unwritten, timeline.Filled: templates.Filled, timeline.Stale: templates.Stale,
	timeline.Missing: templates.Missing, timeline.Unchecked: templates.Unchecked,
}

// ringPicture draws a ring, and lights the slots that were not filled before.
func ringPicture(r, before *timeline.Picture) templates.RingPicture {
	p := templates.RingPicture{
		Title: "The ring as it is stored", Newest: r.Newest, Counter: r.Head,
		Words: "Each entry takes the next number and is appended to that number’s segment. After the last segment, the ring continues with the first. A stale slot refers to a record that has moved or is gone; a missing one was never written. Readers skip both.",
	}
	room, unchecked := 0, false
	for _, s := range r.Segments {
		segment := templates.Segment{Name: s.Key[strings.LastIndexByte(s.Key, '.')+1:]}
		for i, slot := range s.Slots {
			segment.Slots = append(segment.Slots, slots[slot])
			unchecked = unchecked || slot == timeline.Unchecked
			if n := s.First + int64(i); before != nil && n > before.Head && n <= r.Head && slot != timeline.Free {
				p.Lit = append(p.Lit, room+i)
			}
		}
		p.Segments = append(p.Segments, segment)
		room += len(s.Slots)
	}
	if unchecked {
		p.Words += " Only the newest entries were compared with their records; the others are gray."
	}
	p.Counts = "numbers used, room for " + templates.Grouped(int64(room))
	return p
}

// treePicture draws a tree with the way to what was asked about, and lights the nodes that
// had another state before.
func treePicture(l *ashiato.Look, before *ranking.Picture) templates.TreePicture {
	p := templates.TreePicture{
		Title: "The tree as it is stored", Root: node(l.Tree.Root), Room: int64(l.Tree.Room),
		Words: "A node’s name is the way to it from the root, which is key0. The further down in the picture, the later in the order. Four boxes stand for a router and the nodes below it. At most 64 nodes were read.",
	}
	for _, leaf := range l.Tree.Leaves {
		p.Way, p.Goal = leaf, "way to "+l.Of
	}
	if before == nil || before == l.Tree {
		return p
	}
	was := statesOf(before.Root, map[string]uint64{})
	for name, state := range statesOf(l.Tree.Root, map[string]uint64{}) {
		if old, known := was[name]; !known || old != state {
			p.Lit = append(p.Lit, name)
		}
	}
	slices.Sort(p.Lit)
	return p
}

func node(n ranking.Node) templates.Node {
	out := templates.Node{Name: n.Name, Count: int64(n.Count), Shut: n.Closed}
	for _, child := range n.Below {
		out.Children = append(out.Children, node(child))
	}
	return out
}

// statesOf adds the states of the nodes that were read, from n down, to states.
func statesOf(n ranking.Node, states map[string]uint64) map[string]uint64 {
	if n.Read {
		states[n.Name] = n.State
	}
	for _, below := range n.Below {
		statesOf(below, states)
	}
	return states
}

// logPicture draws the segments of a list, and marks those that have changed.
func logPicture(l, before *index.Picture) templates.ListPicture {
	p := templates.ListPicture{
		Title: "The list as it is stored", Room: int64(max(1, l.Room)),
		Words: "Members are appended to segments. A segment that is full is divided; what has left is dropped when that happens.",
	}
	for _, s := range l.Segments {
		p.Segments = append(p.Segments, templates.ListSegment{
			Name: lastPart(s.Key), Live: int64(s.Live), Stale: int64(s.Stale), Asked: before == nil || !slices.Contains(before.Segments, s),
		})
	}
	return p
}
