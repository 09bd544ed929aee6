package keytree

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const ExactUpTo = smallTree

// Stray returns the ids of entries that readable records do not confirm.
func (r *Report) Stray() (ids []string) {
	for _, d := range r.doubtful {
		if d.Again == nil {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

func (t *Tree) Base() string { return t.name }

const shownAtMost = 100

// Members returns the members of a leaf.
func Members(value []byte) []string {
	if nd, _ := decodeNode(kv.Result{Value: value}); nd.leaf != nil {
		return idsOf(nd.leaf.entries)
	}
	return nil
}

func Show(key string, value []byte) ([]string, error) {
	lines, err := show(value)
	if err != nil {
		return nil, wire.Corrupt(key, err)
	}
	return lines, nil
}

func show(value []byte) ([]string, error) {
	kind, _, err := unseal(value)
	if err != nil {
		return nil, err
	}
	got := kv.Result{Value: value}
	switch kind {
	case metaKind:
		m, err := decodeMeta(got)
		if err != nil {
			return nil, err
		}
		return []string{fmt.Sprintf("definition of a tree: epoch %d, %d entries to a leaf, a part lost: %t", m.epoch, m.limit, m.lost)}, nil
	case recordKind:
		st, err := decodeState(got)
		if err != nil {
			return nil, err
		}
		return []string{fmt.Sprintf("record of a member: in %t, score %d, version %d", st.In, st.Score.Int(), st.Ver)}, nil
	case edgeKind:
		return []string{"where the ends of a tree were last seen"}, nil
	case leaseKind:
		return []string{"the right to rebuild a tree"}, nil
	case sealKind:
		return []string{"the root of a tree that has lost a node"}, nil
	}
	switch nd, _ := decodeNode(got); {
	case nd.router != nil:
		return nd.router.show(), nil
	case nd.leaf != nil:
		return nd.leaf.show(), nil
	}
	return nil, fmt.Errorf("%w: node of a ranking", kvmodel.ErrCorrupt)
}

func (s Score) show() string {
	if s.word != "" {
		return fmt.Sprintf("%x", s.word)
	}
	return strconv.FormatInt(s.Int(), 10)
}

func (r *router) show() []string {
	lines := []string{fmt.Sprintf("router over %d members", r.members())}
	for i, s := range r.slots {
		lines = append(lines, fmt.Sprintf("below at %d: %d members, closed %t", i, s.members, s.closed))
	}
	return lines
}

func (l *leaf) show() []string {
	lines := []string{fmt.Sprintf("leaf of %d entries", len(l.entries))}
	for i, e := range l.entries {
		if i == shownAtMost {
			return append(lines, fmt.Sprintf("and %d more", len(l.entries)-i))
		}
		pending := ""
		if e.pending {
			pending = ", pending"
		}
		lines = append(lines, fmt.Sprintf("%s at %s, version %d%s", e.id, e.score.show(), e.ver, pending))
	}
	return lines
}

type Picture struct {
	Root   *PictureNode
	Limit  int
	Leaves []string
}

type PictureNode struct {
	Name   string
	Key    string
	Read   bool
	State  uint64
	Count  int
	Bytes  int
	Closed bool
	Below  []*PictureNode
}

const picturedMost = 1024

// Picture reads the nodes on the paths to the members ids, then others level by level, highest
// first, up to limit in all, in one trip and one more for each level the process has not read.
func (t *Tree) Picture(ctx context.Context, s kv.Store, limit int, ids []string) (Picture, error) {
	var out Picture
	var states []State
	err := t.query(ctx, s, func(r *reading) error {
		out = Picture{Limit: r.limit, Leaves: make([]string, len(ids))}
		for i, st := range states {
			if st.In {
				q := r.point(st.Score, ids[i])
				r.aims = r.bits(q)
				if err := r.answer(ctx, s, r.reach(q.only(), 1)); err != nil {
					return err
				}
				r.eachLeaf(r.seen.get, q.only(), func(name string, _ *leaf) bool { out.Leaves[i] = r.keyName(name); return false })
			}
		}
		if err := r.readTop(ctx, s, min(limit, picturedMost)); err != nil {
			return err
		}
		out.Root = r.draw("", slot{})
		return nil
	}, func(s kv.Store) (err error) { states, err = t.Truth.States(ctx, s, ids); return err })
	return out, err
}

func (r *reading) readTop(ctx context.Context, s kv.Store, limit int) error {
	for level := []string{""}; len(level) > 0; level = r.below(level) {
		var unread []string
		for _, name := range r.likely(level, limit) {
			if _, seen := r.seen.get(name); !seen && r.seen.size()+len(unread) < max(1, limit) {
				unread = append(unread, name)
			}
		}
		if len(unread) == 0 {
			continue
		}
		if err := r.read(ctx, s, unread); err != nil {
			return err
		}
	}
	return nil
}

func (r *reading) likely(level []string, most int) []string {
	all := slices.Clone(level)
	for i := 0; i < len(all) && len(all) < most; i++ {
		if router, _ := r.local.router(r.key(all[i])); router != nil {
			all = append(all, openBelow(all[i], router)...)
		}
	}
	return all
}

func (r *reading) below(level []string) []string {
	var next []string
	for _, name := range level {
		if router := r.seen.router(name); router != nil {
			next = append(next, openBelow(name, router)...)
		}
	}
	return next
}

func openBelow(name string, r *router) (children []string) {
	for i := 3; i >= 0; i-- {
		if !r.slots[i].closed {
			children = append(children, childName(name, i))
		}
	}
	return children
}

func (r *reading) draw(name string, at slot) *PictureNode {
	nd, read := r.seen.get(name)
	n := &PictureNode{Name: r.keyName(name), Key: r.key(name), Read: read, State: uint64(nd.version), Count: at.members, Bytes: nd.size, Closed: at.closed}
	switch {
	case nd.leaf != nil:
		n.Count, n.Closed = r.live(nd.leaf).members, nd.leaf.closed
	case nd.router != nil:
		n.Count, n.Closed = nd.router.members(), nd.router.closed
		for i := 3; i >= 0; i-- {
			n.Below = append(n.Below, r.draw(childName(name, i), nd.router.slots[i]))
		}
	}
	return n
}
