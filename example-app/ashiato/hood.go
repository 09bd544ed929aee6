package ashiato

import (
	"context"

	"github.com/ringtree/ringtree/ranking"
)

// Hood is what the store looks like, for the pictures under the hood.
type Hood struct {
	Ring RingShape
	Tree TreeShape
	Keys []KeyInfo // of the tree, as far as it was read
}

// RingShape is the ring of the newest pages: its segments in order, each with its
// places, as far as they were read.
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

// hoodPages is how many pages of the tree are read.
const hoodPages = 64

// UnderHood reads what the store looks like now. The way to the page with that
// slug is marked in the tree, unless it is empty or there is no such page.
func (s *Site) UnderHood(ctx context.Context, slug string) (*Hood, error) {
	ids, err := s.idsOf(ctx, slug)
	if err != nil {
		return nil, err
	}
	h := &Hood{}
	err = SideBySide(ctx, func(ctx context.Context) (err error) {
		_, h.Ring.Counter, err = s.Models.Pages.Newest.InUse(ctx)
		return err
	}, func(ctx context.Context) error {
		picture, err := s.Models.Pages.TopViews.Picture(ctx, hoodPages, ids...)
		if err != nil {
			return err
		}
		h.Tree = TreeShape{Root: treeNode(picture.Root), Room: int64(picture.Room)}
		for _, leaf := range picture.Leaves {
			h.Tree.Way = leaf
		}
		h.Keys = appendKeys(nil, picture.Root)
		return nil
	})
	return h, err
}

// idsOf returns the id of the page with that slug, if there is one.
func (s *Site) idsOf(ctx context.Context, slug string) ([]string, error) {
	if slug == "" {
		return nil, nil
	}
	p, err := s.Models.Pages.BySlug.Find(ctx, slug)
	if err != nil {
		return nil, unlessGone(err)
	}
	return []string{p.ID}, nil
}

func treeNode(n ranking.Node) TreeNode {
	node := TreeNode{Name: n.Name, Count: int64(n.Count), Shut: n.Closed}
	for _, below := range n.Below {
		node.Children = append(node.Children, treeNode(below))
	}
	return node
}

// appendKeys appends the keys of the tree that were read, the root's first.
func appendKeys(keys []KeyInfo, n ranking.Node) []KeyInfo {
	if !n.Read {
		return keys
	}
	holds := "leaf"
	if len(n.Below) > 0 {
		holds = "router"
	}
	keys = append(keys, KeyInfo{Key: n.Key, Holds: holds, Entries: int64(n.Count)})
	for _, below := range n.Below {
		keys = appendKeys(keys, below)
	}
	return keys
}

// Health asks the store whether it answers: nil, or kvmodel.ErrUnavailable.
func (s *Site) Health(ctx context.Context) error {
	_, err := s.Models.Members.Get(ctx, "nobody")
	return unlessGone(err)
}
