package ranking

import (
	"context"

	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Picture is the top of a board's tree as it is stored, for those who want to
// see it.
type Picture struct {
	Root   Node     // without a Key if there has never been anything on the board
	Room   int      // entries that a leaf has room for
	Leaves []string // for each record asked for the Name of its leaf; "" if it is not on the board
}

// Node is a page of a tree: a router if it has others Below, else a leaf, if it
// was read.
type Node struct {
	Name   string // key0 and two digits for each level below the root: 1 is higher, 0 lower
	Key    string // all of the key under which the store has the page
	Read   bool   // false: what stands here is what the router above says
	Count  int    // records in it or below it
	Bytes  int    // that it takes in the store, if it was read
	Closed bool   // it is empty, and readers pass it by
	Below  []Node // four, the highest scores first
}

// Picture returns the top of the board's tree: the pages on the ways to the
// records with ids, and others level by level, as long as there are fewer than
// limit, or 1,024. Three trips, and one more for each level that this process has
// not seen.
func (b *Board[T, K, S]) Picture(ctx context.Context, limit int, ids ...K) (Picture, error) {
	tree, err := b.open(ctx)
	if tree == nil || err != nil {
		return Picture{Leaves: make([]string, len(ids))}, err
	}
	p, err := tree.Picture(ctx, b.host.Store(), limit, b.texts(ids))
	return pictureOf(p, len(ids)), b.failure(err)
}

// Picture returns the top of the tree: see Board.
func (t *Tree[S]) Picture(ctx context.Context, limit int, ids ...string) (Picture, error) {
	p, err := t.tree.Picture(ctx, t.db.Store(), limit, textsOf(ids))
	return pictureOf(p, len(ids)), t.failure(err)
}

func pictureOf(p keytree.Picture, ids int) Picture {
	if p.Root == nil {
		return Picture{Leaves: make([]string, ids)}
	}
	return Picture{nodeOf(p.Root), p.Limit, p.Leaves}
}

func nodeOf(n *keytree.PictureNode) Node {
	out := Node{Name: n.Name, Key: n.Key, Read: n.Read, Count: n.Count, Bytes: n.Bytes, Closed: n.Closed}
	for _, below := range n.Below {
		out.Below = append(out.Below, nodeOf(below))
	}
	return out
}
