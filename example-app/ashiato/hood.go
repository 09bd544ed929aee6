package ashiato

import (
	"context"

	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/timeline"
)

// Hood is what the page under the hood shows of the store.
type Hood struct {
	Ring timeline.Picture // the newest pages
	Tree ranking.Picture  // the ranking by all views

	RingKeys []KeyInfo // newest segment first
	TreeKeys []KeyInfo // root first; only of the nodes that were read
}

// KeyInfo is a key of the store and what it holds.
type KeyInfo struct {
	Key     string
	Holds   string
	Entries int64
	Bytes   int64
}

// hoodNodes is how many nodes of the tree are read at most.
const hoodNodes = 64

// UnderHood reads what the store looks like now. In the tree it marks the way to
// the page with that slug, if there is such a page.
func (s *Site) UnderHood(ctx context.Context, slug string) (*Hood, error) {
	ids, err := s.idsOf(ctx, slug)
	if err != nil {
		return nil, err
	}
	h := &Hood{}
	var rings []timeline.Picture
	err = s.db.SideBySide(ctx,
		func(ctx context.Context) (err error) { rings, err = s.Models.Pages.Newest.Pictures(ctx); return err },
		func(ctx context.Context) (err error) {
			h.Tree, err = s.Models.Pages.TopViews.Picture(ctx, hoodNodes, ids...)
			return err
		})
	if err != nil {
		return nil, err
	}
	h.Ring = rings[0]
	h.RingKeys, h.TreeKeys = ringKeys(h.Ring), treeKeys(h.Tree.Root)
	return h, nil
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

// ringKeys returns the keys of the ring that are in the store, newest segment
// first.
func ringKeys(ring timeline.Picture) (keys []KeyInfo) {
	n := len(ring.Segments)
	for i := range n {
		segment, holds := ring.Segments[(ring.Newest-i+n)%n], "segment"
		if i == 0 {
			holds = "segment, newest"
		}
		if segment.Bytes > 0 {
			keys = append(keys, KeyInfo{segment.Key, holds, int64(segment.Entries), int64(segment.Bytes)})
		}
	}
	return keys
}

// treeKeys returns the keys of n and the nodes below it, as far as they were read.
func treeKeys(n ranking.Node) []KeyInfo {
	if !n.Read {
		return nil
	}
	holds := "leaf"
	if len(n.Below) > 0 {
		holds = "router"
	}
	keys := []KeyInfo{{n.Key, holds, int64(n.Count), int64(n.Bytes)}}
	for _, below := range n.Below {
		keys = append(keys, treeKeys(below)...)
	}
	return keys
}

// Health asks the store for something. It returns nil if the store answers, and
// kvmodel.ErrUnavailable if it does not.
func (s *Site) Health(ctx context.Context) error {
	_, err := s.Models.Members.Get(ctx, "nobody")
	return unlessGone(err)
}
