package timeline

import (
	"fmt"
	"slices"
	"sync/atomic"
)

// shapes are the shapes in which a ring has entries, and how much of it is shown.
type shapes struct {
	all    []shape // the newest first
	writes int     // which of all new entries go to
	size   int64   // how many stamps are shown at most
}

// ownShapes returns the shapes of a ring whose release says alone what they are.
func ownShapes(all ...shape) shapes { return shapes{all: all, size: all[0].size} }

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
	p := &parsed{texts, shapes{writes: writes, size: s.own[0].size}}
	for _, text := range slices.Backward(texts) {
		p.all = append(p.all, parseShape(text))
	}
	s.parsed.Store(p)
	return p.shapes
}

// parseShape returns the shape that the built item names text.
func parseShape(text string) shape {
	var s Shape
	_, _ = fmt.Sscanf(text, "%dx%d", &s.Size, &s.Segment)
	return s.shape()
}
