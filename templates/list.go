package templates

import (
	"context"
	"fmt"
	"io"
)

// ListPicture draws the segments of a list in at most 16 rows.
type ListPicture struct {
	Title    string // for screen readers
	Segments []ListSegment
	Room     int64  // members a segment has room for
	Words    string // below the picture
}

// ListSegment is one key of a list.
type ListSegment struct {
	Name   string
	Live   int64 // members
	Stale  int64 // entries removed or repeated since the segment was rolled
	Sealed bool  // replaced by others, and no longer read
	Asked  bool  // the requested one
}

// Render writes the picture with its key.
func (l ListPicture) Render(ctx context.Context, w io.Writer) error {
	return listPicture(l).Render(ctx, w)
}

func (l ListPicture) description() string {
	live, stale := total(l.Segments)
	return fmt.Sprintf("A list of %s with %s and %s stale entries; a segment has room for %s.",
		counted(len(l.Segments), "segment", "segments"), counted(int(live), "member", "members"), Grouped(stale), Grouped(l.Room))
}

func (l ListPicture) key() []entry {
	live, stale := total(l.Segments)
	return []entry{
		{"bar", Grouped(live) + " live, full at " + Grouped(l.Room)},
		{"half", Grouped(stale) + " stale"},
		{"shut", "sealed"},
	}
}

func total(segments []ListSegment) (live, stale int64) {
	for _, s := range segments {
		if !s.Sealed {
			live += s.Live
			stale += s.Stale
		}
	}
	return live, stale
}

const (
	listRows     = 16
	listRow      = 30.0
	listNameMax  = 18
	listBars     = 172.0
	listBarWidth = 222.0
	listParts    = 4 // of the bar for all further segments
)

type listRowDrawing struct {
	bar
	name, count string
}

func (l ListPicture) height() float64 {
	return listRow * float64(max(1, min(listRows, len(l.Segments))))
}

func (l ListPicture) rows() []listRowDrawing {
	shown := l.Segments
	if len(shown) > listRows {
		shown = shown[:listRows-1]
	}
	var rows []listRowDrawing
	for i, s := range shown {
		rows = append(rows, l.row(i, s))
	}
	if rest := l.Segments[len(shown):]; len(rest) > 0 {
		rows = append(rows, l.folded(len(shown), rest))
	}
	return rows
}

func barAt(i int) bar {
	return bar{x: listBars, y: listRow*float64(i) + listRow/2, width: listBarWidth}
}

func (l ListPicture) row(i int, s ListSegment) listRowDrawing {
	drawn := listRowDrawing{barAt(i), shortened(s.Name, listNameMax), Grouped(s.Live)}
	drawn.now, drawn.shut = s.Asked, s.Sealed
	if s.Sealed {
		drawn.count = "sealed"
	} else {
		drawn.parts = []part{l.part(s.Live, s.Stale, 1)}
	}
	return drawn
}

// The last row has a small bar for each quarter of the other segments.
func (l ListPicture) folded(i int, rest []ListSegment) listRowDrawing {
	live, _ := total(rest)
	drawn := listRowDrawing{barAt(i), Grouped(int64(len(rest))) + " more", Grouped(live)}
	parts := min(listParts, len(rest))
	for p := range parts {
		some := rest[p*len(rest)/parts : (p+1)*len(rest)/parts]
		live, stale := total(some)
		drawn.parts = append(drawn.parts, l.part(live, stale, int64(len(some))))
	}
	return drawn
}

func (l ListPicture) part(live, stale, n int64) part {
	full := share(live, n*l.Room)
	return part{full: full, half: min(1-full, share(stale, n*l.Room))}
}
