package plug

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type Drawn interface {
	// Picture reads about most keys.
	Picture(ctx context.Context, s kv.Store, value string, most int) (Picture, error)
}

// Picture is a layout in the store: rings, one per shard, or a tree, or the segments of a list.
type Picture struct {
	Rings []Ring
	Root  *Node
	Room  int // entries in a leaf, or about so many in a part
	Parts []Part
	Words string // what was left out
}

type Ring struct {
	Head     int64 // last number assigned
	Newest   int   // segment of Head
	Segments []Segment
}

// Segment has slots as in package timeline.
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

type Part struct {
	Name        string
	Key         string
	Bytes       int
	Live, Stale int
}
