package keytree

import (
	"context"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type Picture struct {
	Root   *PictureNode // nil: no tree
	Limit  int
	Leaves []string // of each given member; "" if it is not in the tree
}

type PictureNode struct {
	Name   string // the last part of its key
	Key    string
	Read   bool   // false: the values come from the router above
	State  uint64 // differs after each change; 0: not read
	Count  int
	Bytes  int
	Closed bool
	Below  []*PictureNode // highest first
}

const picturedMost = 1024

// Picture reads the nodes on the paths to the members ids, then others level by level, highest
// first, up to limit in all. It takes one trip, and one more for each level the process has not
// read.
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
				r.eachLeaf(r.known, q.only(), func(name string, _ *leaf) bool { out.Leaves[i] = r.keyName(name); return false })
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

// likely adds the remembered nodes below level, so that a known tree is read in one trip.
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
