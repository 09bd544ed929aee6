package templates

import (
	"slices"

	"github.com/a-h/templ"
)

// LitSince lights what differs in now: slots of a ring, nodes of a tree.
func LitSince(now, before templ.Component) templ.Component {
	switch p := now.(type) {
	case RingPicture:
		if was, ok := before.(RingPicture); ok {
			p.Lit = newSlots(p, was)
		}
		return p
	case TreePicture:
		if was, ok := before.(TreePicture); ok {
			p.Lit = newNodes(p.Root, was.Root)
		}
		return p
	}
	return now
}

func newSlots(now, before RingPicture) (all []int) {
	n := 0
	for i, segment := range now.Segments {
		for j, slot := range segment.Slots {
			same := i < len(before.Segments) && j < len(before.Segments[i].Slots) && before.Segments[i].Slots[j] == slot
			if !same && slot != Unwritten {
				all = append(all, n)
			}
			n++
		}
	}
	return all
}

func newNodes(now, before Node) (all []string) {
	if now.Count != before.Count {
		all = append(all, now.Name)
	}
	for _, child := range now.Children {
		at := slices.IndexFunc(before.Children, func(b Node) bool { return b.Name == child.Name })
		was := Node{}
		if at >= 0 {
			was = before.Children[at]
		}
		all = append(all, newNodes(child, was)...)
	}
	return all
}
