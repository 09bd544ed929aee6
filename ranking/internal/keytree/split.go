package keytree

import (
	"context"
	"errors"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// split makes the leaf at a router with four children, which get the entries of
// kept. First the leaf is frozen, so that nothing is put in that its children do
// not get; then anybody can do the rest.
func (p *nodes) split(ctx context.Context, s kv.Store, at *spot, kept *leaf) error {
	frozen := *kept
	frozen.splitting, frozen.seq = true, at.leaf.seq+1
	if err := p.write(ctx, s, at.name, at.node, frozen.encode()); err != nil {
		return err
	}
	return p.finishSplit(ctx, s, at.name, node{leaf: &frozen})
}

// finishSplit makes the children of a frozen leaf, and then of the leaf itself a
// router. What they become is a function of the frozen leaf, so that all who do
// this do the same, and none can undo it. Who has frozen it does not know its
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
	for _, err := range kv.Together(ctx, s, works...) {
		if err != nil {
			return err
		}
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

// add adds the children of the node called name. It reports whether some were
// there already.
func (p *nodes) add(ctx context.Context, s kv.Store, name string, children [4]*leaf) (there bool, err error) {
	ops := make([]kv.Op, len(children))
	for i, c := range children {
		ops[i] = p.put(childName(name, i), node{}, c.encode())
	}
	// Each op tells in its result what became of it.
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

// children returns what the four children of the leaf called name begin as.
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

// routerOf returns what a frozen leaf becomes. Its sequence goes on, since the
// node above knows the leaf's.
func routerOf(frozen *leaf, children [4]*leaf) *router {
	r := &router{seq: frozen.seq + 1, pushed: frozen.pushed}
	for i, c := range children {
		// Below a node that was lost there may be others that were not.
		r.slots[i] = slot{count: c.pushed, closed: c.closed && !frozen.lost}
	}
	return r
}

// putBelow puts the entries of a leaf into the nodes below it that were there
// before it was.
func (p *nodes) putBelow(ctx context.Context, s kv.Store, l *leaf) error {
	works := make([]func(kv.Store) error, len(l.entries))
	for i, e := range l.entries {
		works[i] = func(s kv.Store) error {
			var due reports
			put := &edit{point: p.point(e.score, e.id), id: e.id, put: &e}
			if err := p.edit(ctx, s, put, nil, &due); err != nil {
				return err
			}
			return p.report(ctx, s, &due)
		}
	}
	return errors.Join(kv.Together(ctx, s, works...)...)
}
