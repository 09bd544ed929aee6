package plug

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Drawn is a Window of which there are pictures.
type Drawn interface {
	// Picture returns how what stands at a value, "" where there is only one, lies in the
	// store. It reads about most keys. What would take more is left out, or not looked into.
	Picture(ctx context.Context, s kv.Store, value string, most int) (Picture, error)
}

// Picture is how something lies in the store: as rings, one for each shard, as a tree, or as
// the segments of a list.
type Picture struct {
	Rings []Ring
	Root  *Node
	Room  int // entries in a leaf, or about that many in a part
	Parts []Part
	Words string // what was left out; "": nothing
}

// Ring is a ring of segments.
type Ring struct {
	Head     int64 // the last number that was given
	Newest   int   // the segment that has it
	Segments []Segment
}

// Segment is a key of a ring. Slots are as package timeline numbers what one may hold.
type Segment struct {
	Name  string
	Slots []uint8
}

// Node is a node of a tree.
type Node struct {
	Name   string
	Count  int
	Closed bool
	Below  []Node // the highest first
}

// Part is a segment of a list.
type Part struct {
	Name        string
	Key         string
	Bytes       int
	Live, Stale int
}
