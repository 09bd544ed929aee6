package ranking

import (
	"context"

	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Picture is the top of a board's tree as it is stored.
type Picture struct {
	Root   Node     // without a Key if the board has never held anything
	Room   int      // how many entries a leaf has room for
	Leaves []string // the Name of each given record's leaf; "" if it is not on the board
}

// Node is a node of a tree. One that was read is a router if it has nodes Below,
// otherwise a leaf.
type Node struct {
	Name   string // key0 and two digits for each level below the root: 1 is higher, 0 lower; of words see docs/internals/keys.md
	Key    string // the key of the node in the store
	Read   bool   // false: this is what the router above says of it
	State  uint64 // another one after each change of the node itself; 0 if it was not read
	Count  int    // records in it or below it
	Bytes  int    // in the store, if it was read
	Closed bool   // it is empty, and readers skip it
	Below  []Node // four, the highest scores first
}

// Picture returns the top of the board's tree: the nodes on the ways to the
// records with ids, then others level by level, up to limit nodes and at most
// 1,024. Three trips, and one more for each level that this process has not seen.
func (b *Board[T, K, S]) Picture(ctx context.Context, limit int, ids ...K) (Picture, error) {
	return b.part.draw(ctx, limit, b.texts(ids))
}

func (p part) draw(ctx context.Context, limit int, ids []string) (Picture, error) {
	ctx, end := p.host.Begin(ctx, "Picture")
	defer end()
	nothing := Picture{Leaves: make([]string, len(ids))}
	r, err := p.open(ctx)
	if err != nil || r.tree == nil {
		return nothing, err
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
