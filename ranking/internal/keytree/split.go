package keytree

import (
	"context"
	"errors"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// split turns the leaf at into a router with four children, which get the entries of
// kept. It freezes the leaf first, so that no entry is added that the children do
// not get; then any process can do the rest.
func (p *nodes) split(ctx context.Context, s kv.Store, at *spot, kept *leaf) error {
	frozen := *kept
	frozen.splitting, frozen.seq = true, at.leaf.seq+1
	if err := p.write(ctx, s, at.name, at.node, frozen.encode()); err != nil {
		return err
	}
	return p.finishSplit(ctx, s, at.name, node{leaf: &frozen})
}

// finishSplit adds the children of a frozen leaf and then turns it into a router.
// The result is a function of the frozen leaf, so all processes that do this do the
// same, and none can undo it. The process that froze the leaf does not know its
// version yet.
func (p *nodes) finishSplit(ctx context.Context, s kv.Store, name string, frozen node) error {
	children := p.children(name, frozen.leaf)
	var there bool
	works := []func(kv.Store) error{
		func(s kv.Store) (err error) { there, err = p.add(ctx, s, name, children); return err },
	}
	if frozen.version == 0 {
		works = append(works, func(s kv.Store) error {
			got, err := p.get(ctx, s, name)
			if err == nil && (got[0].leaf == nil || !got[0].leaf.splitting) {
				err = errAgain
			}
			if err == nil {
				frozen.version = got[0].version
			}
			return err
		})
	}
	if err := together(ctx, s, works...); err != nil {
		return err
	}
	r := routerOf(frozen.leaf, children)
	if err := p.write(ctx, s, name, frozen, r.encode()); err != nil {
		return err
	}
	p.local.remember(p.key(name), r)
	if frozen.leaf.lost && there {
		return p.putBelow(ctx, s, frozen.leaf)
	}
	return nil
}

// add adds the children of the node called name, and reports whether some existed
// already.
func (p *nodes) add(ctx context.Context, s kv.Store, name string, children [4]*leaf) (there bool, err error) {
	ops := make([]kv.Op, len(children))
	for i, c := range children {
		ops[i] = p.put(childName(name, i), node{}, c.encode())
	}
	// The result of each op says whether it succeeded.
	_ = s.Do(ctx, ops)
	for i := range ops {
		switch err := ops[i].Err(); {
		case errors.Is(err, kv.ErrExists):
			there = true
		case errors.Is(err, kv.ErrUnclear) && ctx.Err() == nil:
			return there, errAgain
		case err != nil:
			return there, err
		}
	}
	return there, nil
}

// children returns the four children of the leaf called name.
func (p *nodes) children(name string, frozen *leaf) [4]*leaf {
	var children [4]*leaf
	for i := range children {
		children[i] = new(leaf)
	}
	for _, e := range frozen.entries {
		c := children[child(name, p.bits(p.point(e.score, e.id)))]
		c.entries = append(c.entries, e)
	}
	for _, c := range children {
		c.pushed = c.live()
		c.closed = len(c.entries) == 0
	}
	return children
}

// routerOf returns the router that a frozen leaf becomes. It continues the sequence
// numbers of the leaf, which the node above knows.
func routerOf(frozen *leaf, children [4]*leaf) *router {
	r := &router{seq: frozen.seq + 1, pushed: frozen.pushed}
	for i, c := range children {
		// There may still be nodes below one that was lost.
		r.slots[i] = slot{count: c.pushed, closed: c.closed && !frozen.lost}
	}
	return r
}

// putBelow adds the entries of a leaf to the nodes below it, which existed before
// the leaf did.
func (p *nodes) putBelow(ctx context.Context, s kv.Store, l *leaf) error {
	return errors.Join(kv.Each(ctx, s, l.entries, func(s kv.Store, _ int, e entry) error {
		var due reports
		put := &edit{point: p.point(e.score, e.id), id: e.id, put: &e}
		if err := p.edit(ctx, s, put, nil, &due); err != nil {
			return err
		}
		return p.report(ctx, s, &due)
	})...)
}
