package keytree

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// split turns the leaf at into a router with children, which get the entries of
// kept. It freezes the leaf first, so that no entry is added that the children do
// not get; then any process can do the rest. So kept is in the tree once it is
// frozen, and only a leaf that was lost, below which nodes may exist, needs the rest.
func (p *nodes) split(ctx context.Context, s kv.Store, at *spot, kept *leaf, due *reports) error {
	whole := *kept
	whole.splitting = true
	frozen, err := p.replace(ctx, s, at, &whole, due)
	if err != nil {
		return err
	}
	if err := p.finishSplit(ctx, s, at.name, node{leaf: frozen}); frozen.lost {
		return err
	}
	return nil
}

// finishSplit adds the nodes below a frozen leaf and then turns it into a router.
// The result is a function of the frozen leaf, so all processes that do this do the
// same, and none can undo it. The process that froze the leaf does not know its
// version yet.
func (p *nodes) finishSplit(ctx context.Context, s kv.Store, name string, frozen node) error {
	r, below := p.below(name, frozen.leaf)
	var there bool
	works := []func(kv.Store) error{
		func(s kv.Store) (err error) { there, err = p.add(ctx, s, below); return err },
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
	if err := p.write(ctx, s, name, frozen, r.encode()); err != nil {
		return err
	}
	p.local.remember(p.key(name), r)
	for _, n := range below {
		if n.router != nil {
			p.local.remember(p.key(n.name), n.router)
		}
	}
	if frozen.leaf.lost && there {
		return p.putBelow(ctx, s, frozen.leaf)
	}
	return nil
}

// grown is a node below a frozen leaf: a leaf, or a router.
type grown struct {
	name   string
	leaf   *leaf
	router *router
}

func (g grown) encode() []byte {
	if g.router != nil {
		return g.router.encode()
	}
	return g.leaf.encode()
}

// add adds nodes, and reports whether some existed already.
func (p *nodes) add(ctx context.Context, s kv.Store, nodes []grown) (there bool, err error) {
	ops := make([]kv.Op, len(nodes))
	for i, n := range nodes {
		ops[i] = p.put(n.name, node{}, n.encode())
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

// below returns the router that the frozen leaf called name becomes, and all nodes
// below it: where four leaves would not have room for the entries, there are more
// routers. The router continues the sequence numbers of the leaf, which the node
// above knows.
func (p *nodes) below(name string, frozen *leaf) (*router, []grown) {
	r := &router{lost: frozen.lost, seq: frozen.seq + 1, pushed: frozen.pushed}
	var all []grown
	for i, c := range p.children(name, frozen) {
		g := grown{name: childName(name, i), leaf: c}
		if c.full(p.limit) && p.splits(g.name) {
			var deeper []grown
			g.router, deeper = p.below(g.name, c)
			g.router.pushed = p.total(g.name, g.router)
			c.pushed = g.router.pushed
			all = append(all, deeper...)
		}
		// There may still be nodes below one that was lost.
		r.slots[i] = slot{tally: c.pushed, closed: c.closed && !frozen.lost}
		all = append(all, g)
	}
	return r, all
}

// children returns the four parts of the leaf called name.
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
		c.pushed = p.live(c)
		c.closed = len(c.entries) == 0
	}
	return children
}

// putBelow adds the entries of a leaf to the nodes below it, which existed before
// the leaf did.
func (p *nodes) putBelow(ctx context.Context, s kv.Store, l *leaf) error {
	puts := make([]*edit, len(l.entries))
	for i, e := range l.entries {
		puts[i] = p.editing(e.score, e.id)
		puts[i].put, puts[i].began = &e, time.Time{}
	}
	due := new(reports)
	p.edit(ctx, s, puts, nil, due)
	return cmp.Or(failure(puts), p.report(ctx, s, due))
}
