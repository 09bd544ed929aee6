package ashiato

import (
	"context"
)

// Hood is what the store looks like, for the pictures under the hood.
type Hood struct {
	Ring RingShape
	Tree TreeShape
	Keys []KeyInfo
}

// RingShape is the ring of the newest pages: its segments in order, each with its
// places.
type RingShape struct {
	Counter  int64 // how many numbers were given
	Segments []RingSegment
	Newest   int // the segment that is written to
}

// RingSegment is one key of the ring.
type RingSegment struct {
	Key    string
	Places []RingPlace
	Bytes  int
}

// RingPlace is what a place of the ring holds.
type RingPlace uint8

// What a place may hold.
const (
	Unwritten RingPlace = iota // not reached yet
	Filled                     // a page that stands here
	Stale                      // a page that stands at a newer place, or is gone
	Missing                    // nothing, though its number was given
)

// TreeShape is the tree of the ranking by all views.
type TreeShape struct {
	Root TreeNode
	Room int64  // entries a leaf has room for
	Way  string // the name of the leaf that holds the page that was asked about; "": none
}

// TreeNode is a router if it has children, else a leaf.
type TreeNode struct {
	Name     string
	Count    int64
	Shut     bool
	Children []TreeNode // highest first
}

// KeyInfo is one key of the store and what it holds.
type KeyInfo struct {
	Key     string
	Holds   string
	Entries int64
	Bytes   int64
}

// UnderHood reads what the store looks like now. The way to the page with that
// slug is marked in the tree, unless it is empty.
func (s *Site) UnderHood(ctx context.Context, slug string) (*Hood, error) {
	return &Hood{}, nil
}

// Health asks the store whether it answers: nil, or kvmodel.ErrUnavailable.
func (s *Site) Health(ctx context.Context) error {
	_, err := s.Models.Members.Get(ctx, "nobody")
	return unlessGone(err)
}
