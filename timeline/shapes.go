package timeline

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// shapes are the shapes in which a ring has entries, and how much of it is shown.
type shapes struct {
	all    []shape // the newest first
	lasts  []bool  // an entry in this one stays as long as a new one does
	writes int     // which of all new entries go to
	size   int64   // how many stamps are shown at most
}

// ownShapes returns the shapes of a ring whose release says alone what they are.
func ownShapes(own ...shape) shapes { return shapesOf(own, 0, own) }

// shapesOf returns the shapes of a ring whose release has the shapes own. An entry does
// not last in a shape that is shorter than the one that is written, or that a rebuild may
// let the built item forget.
func shapesOf(all []shape, writes int, own []shape) shapes {
	s := shapes{all: all, writes: writes, size: own[0].size}
	for k, g := range all {
		s.lasts = append(s.lasts, g.size >= s.shape().size && (k <= writes || slices.Contains(own, g)))
	}
	return s
}

// shape returns the one that new entries go to.
func (s shapes) shape() shape { return s.all[s.writes] }

// stands is the shapes of an index as its processes know them.
type stands struct {
	own    []shape // of this release, and of those before, the newest first
	parsed atomic.Pointer[parsed]
}

// parsed is what was last read of the built item.
type parsed struct {
	texts []string
	shapes
}

// texts returns the shapes of s as the built item names them, the earliest first.
func (s *stands) texts() []string {
	var texts []string
	for _, g := range slices.Backward(s.own) {
		texts = append(texts, g.text())
	}
	return texts
}

// now returns the shapes that the built item names in texts, of which written is written.
// If it names none, they are what this release knows.
func (s *stands) now(texts []string, written int) shapes {
	if len(texts) == 0 {
		return ownShapes(s.own...)
	}
	writes := len(texts) - 1 - written
	if p := s.parsed.Load(); p != nil && p.writes == writes && slices.Equal(p.texts, texts) {
		return p.shapes
	}
	var all []shape
	for _, text := range slices.Backward(texts) {
		all = append(all, parseShape(text))
	}
	p := &parsed{texts, shapesOf(all, writes, s.own)}
	s.parsed.Store(p)
	return p.shapes
}

// parseShape returns the shape that the built item names text.
func parseShape(text string) shape {
	var s Shape
	_, _ = fmt.Sscanf(text, "%dx%d", &s.Size, &s.Segment)
	return s.shape()
}
