// Package posttree is the original form of package ranking's tree, for learning: a binary tree in a
// key-value store with nodes named by their positions. The root is key0; a node with a lower score
// has its parent's name and a 0, one with a higher score a 1. A search only needs to know whether a
// key exists.
//
// The tree needs no pointers, locks or balancing, and each node is one key that is added once. But
// the order of the inserts determines the length of the path to a member. Scores that only rise, as
// times and counts do, make a chain, which ends at the maximum key length of the store.
//
// Package ranking keeps the idea that a name is a position, and takes the bits of the name from the
// score itself: see docs/ranking.md, which draws both.
package posttree

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Root is the name of the root's key, and the prefix of all names.
const Root = "key0"

// Tree is a tree in a store of its own. Every node below name+"0" has a lower score than the node
// called name, and every node below name+"1" an equal or higher one.
type Tree struct{ store kv.Store }

type Member struct {
	Score int64
	ID    string
}

func New(s kv.Store) *Tree { return &Tree{s} }

// Insert adds m and returns the name of its node. It takes two trips, and one for each node above.
// It returns ErrBadKey if the path is longer than a key may be.
func (t *Tree) Insert(ctx context.Context, m Member) (name string, err error) {
	for name = Root; ; {
		at, err := t.node(ctx, name)
		switch {
		case errors.Is(err, kvmodel.ErrNotFound):
			_, err = kv.One(ctx, t.store, kv.OpAdd(name, m.value()))
			if !errors.Is(err, kvmodel.ErrExists) {
				return name, err
			}
			// Another member has just taken the position: read it.
		case err != nil:
			return name, err
		default:
			name += side(m.Score, at.Score)
		}
	}
}

// side returns the suffix that leads from a node with the score at toward score.
func side(score, at int64) string {
	if score < at {
		return "0"
	}
	return "1"
}

// node returns the member at name; ErrNotFound if there is none.
func (t *Tree) node(ctx context.Context, name string) (Member, error) {
	r, err := kv.One(ctx, t.store, kv.OpGet(name))
	if err != nil {
		return Member{}, err
	}
	return parse(r.Value)
}

// Top returns the n members with the highest scores, highest first, one trip for each node that it
// passes.
func (t *Tree) Top(ctx context.Context, n int) ([]Member, error) {
	var top []Member
	return top, t.descend(ctx, Root, n, &top)
}

// descend appends the members at and below name, highest first, up to n in all.
func (t *Tree) descend(ctx context.Context, name string, n int, top *[]Member) error {
	if len(*top) >= n {
		return nil
	}
	at, err := t.node(ctx, name)
	if errors.Is(err, kvmodel.ErrNotFound) || errors.Is(err, kv.ErrBadKey) {
		return nil // There is nothing below a node without children.
	}
	if err != nil {
		return err
	}
	if err := t.descend(ctx, name+"1", n, top); err != nil {
		return err
	}
	if len(*top) < n {
		*top = append(*top, at)
	}
	return t.descend(ctx, name+"0", n, top)
}

func (m Member) value() []byte { return fmt.Appendf(nil, "%d %s", m.Score, m.ID) }

func parse(value []byte) (Member, error) {
	score, id, _ := strings.Cut(string(value), " ")
	n, err := strconv.ParseInt(score, 10, 64)
	if err != nil {
		return Member{}, fmt.Errorf("%w: %q is no node", kvmodel.ErrCorrupt, value)
	}
	return Member{n, id}, nil
}
