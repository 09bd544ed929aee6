package plug

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Drawn is a Window with pictures.
type Drawn interface {
	// Picture returns the layout of the data at a value. It reads about most keys.
	Picture(ctx context.Context, s kv.Store, value string, most int) (Picture, error)
}

// Picture is a layout in the store: rings, one per shard, or a tree, or the segments of a list.
type Picture struct {
	Rings []Ring
	Root  *Node
	Room  int // entries in a leaf, or about that many in a part
	Parts []Part
	Words string // says what was left out
}

// Ring is a ring of segments.
type Ring struct {
	Head     int64 // last number assigned
	Newest   int   // the segment with Head
	Segments []Segment
}

// Segment is a key of a ring. Slots are numbered as in package timeline.
type Segment struct {
	Name  string
	Slots []uint8
}

type Node struct {
	Name   string
	Count  int
	Closed bool
	Below  []Node // highest first
}

// Part is a segment of a list.
type Part struct {
	Name        string
	Key         string
	Bytes       int
	Live, Stale int
}
