package ranking

import (
	"context"

	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Picture is the top of a board's stored tree.
type Picture struct {
	Root   Node     // without a Key if the board was never written
	Room   int      // capacity of a leaf, in entries
	Leaves []string // of each given record; "" if it is not on the board
}

// Node is a node of a tree. A node that was read is a router if Below is not empty, otherwise a
// leaf.
type Node struct {
	Name   string // key0 and two digits for each level below the root: 1 is higher, 0 lower; for words see docs/internals/keys.md
	Key    string
	Read   bool   // false: the values come from the router above
	State  uint64 // changes with each write of the node; 0 if it was not read
	Count  int
	Bytes  int    // if it was read
	Closed bool   // empty, and skipped by readers
	Below  []Node // four nodes, highest scores first
}

// Picture returns the top of the board's tree: the nodes on the paths to the records with ids, then
// others level by level, up to limit nodes and at most 1,024. Three trips, and one more for each
// level this process has not read.
func (b *Board[T, K, S]) Picture(ctx context.Context, limit int, ids ...K) (Picture, error) {
	return b.part.draw(ctx, limit, b.texts(ids))
}

func (p part) draw(ctx context.Context, limit int, ids []string) (Picture, error) {
	nothing := Picture{Leaves: make([]string, len(ids))}
	ctx, r, err := p.open(ctx, "Picture")
	if err != nil {
		return nothing, err
	}
	defer r.close()
	if r.tree == nil {
		return nothing, nil
	}
	drawn, err := r.tree.Picture(ctx, r.db.Store(), limit, ids)
	if drawn.Root == nil {
		return nothing, r.failure(err)
	}
	return Picture{nodeOf(drawn.Root), drawn.Limit, drawn.Leaves}, r.failure(err)
}

func nodeOf(n *keytree.PictureNode) Node {
	out := Node{Name: n.Name, Key: n.Key, Read: n.Read, State: n.State, Count: n.Count, Bytes: n.Bytes, Closed: n.Closed}
	for _, below := range n.Below {
		out.Below = append(out.Below, nodeOf(below))
	}
	return out
}
