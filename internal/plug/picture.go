package plug

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Drawn is a Window with pictures.
type Drawn interface {
	// Picture returns the layout of the data at a value, "" if there is only one. It reads about
	// most keys and omits the rest.
	Picture(ctx context.Context, s kv.Store, value string, most int) (Picture, error)
}

// Picture is the layout of data in the store: rings, one per shard, or a tree, or the segments of a
// list.
type Picture struct {
	Rings []Ring
	Root  *Node
	Room  int // entries in a leaf, or approximately in a part
	Parts []Part
	Words string // what was left out; "": nothing
}

// Ring is a ring of segments.
type Ring struct {
	Head     int64 // the last number assigned
	Newest   int   // the segment that holds Head
	Segments []Segment
}

// Segment is a key of a ring. Slots are numbered as in package timeline.
type Segment struct {
	Name  string
	Slots []uint8
}

// Node is a node of a tree.
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
