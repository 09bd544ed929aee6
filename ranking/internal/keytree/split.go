package keytree

import (
	"context"
	"errors"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// finishSplit adds the nodes below a frozen leaf and then turns it into a router. The result is a
// function of the frozen leaf, so all processes do the same, and none can undo it. frozen.version
// is 0 in the process that froze the leaf: it does not know the version yet.
//
// If another goroutine is at it and waits is set, finishSplit only waits a little. In a transaction
// the other one could not go on.
func (p *nodes) finishSplit(ctx context.Context, s kv.Store, name string, frozen node, waits bool) error {
	key := p.key(name)
	if _, busy := p.local.splitting.LoadOrStore(key, true); !busy {
		defer p.local.splitting.Delete(key)
	} else if waits && !kv.PowersOf(s).Inside {
		kv.Pause(ctx, s, time.Millisecond)
		return nil
	}
	r, below := p.below(name, frozen.leaf)
	works := []func(kv.Store) error{func(s kv.Store) error { return p.add(ctx, s, below) }}
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
	if err := p.writeRouter(ctx, s, name, frozen, r); err != nil {
		return err
	}
	for _, n := range below {
		if n.router != nil {
			p.local.remember(p.key(n.name), n.router)
		}
	}
	return nil
}

type grown struct {
	name   string
	leaf   *leaf
	router *router
}

func (g grown) encode() []byte {
	if g.router != nil {
		return g.router.encode(nil)
	}
	return g.leaf.encode(nil)
}

func (p *nodes) add(ctx context.Context, s kv.Store, nodes []grown) error {
	ops := make([]kv.Op, len(nodes))
	for i, n := range nodes {
		ops[i] = p.put(p.key(n.name), node{}, n.encode())
	}
	_ = s.Do(ctx, ops)
	for i := range ops {
		switch err := ops[i].Err(); {
		case errors.Is(err, kv.ErrUnclear) && ctx.Err() == nil:
			return errAgain
		case err != nil && !errors.Is(err, kv.ErrExists):
			return err
		}
	}
	return nil
}

// below returns the router that replaces the frozen leaf, and all nodes below it, with more routers
// if four leaves are too small. The router continues the leaf's sequence numbers, since the node
// above knows them.
func (p *nodes) below(name string, frozen *leaf) (*router, []grown) {
	r := &router{seq: frozen.seq + 1, pushed: frozen.pushed}
	var all []grown
	for i, c := range p.divide(name, frozen) {
		g := grown{name: childName(name, i), leaf: c}
		if c.full(p.limit) && p.splits(g.name) {
			var deeper []grown
			g.router, deeper = p.below(g.name, c)
			g.router.pushed = p.total(g.name, g.router)
			c.pushed = g.router.pushed
			all = append(all, deeper...)
		}
		r.slots[i] = slot{tally: c.pushed, closed: c.closed}
		all = append(all, g)
	}
	return r, all
}

func (p *nodes) divide(name string, frozen *leaf) [4]*leaf {
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

// open opens the path to the closed leaf at, from the root down, before an entry is added.
// Afterwards no slot on it is closed, and no report in flight can close one, because the slots have
// later sequence numbers.
func (p *nodes) open(ctx context.Context, s kv.Store, at *spot) error {
	names := path(at.name)
	way, err := p.get(ctx, s, names[:len(names)-1]...)
	if err != nil {
		return err
	}
	way = append(way, at.node)
	for i, above := range way[:len(way)-1] {
		below := way[i+1]
		if above.router == nil {
			p.local.forget(p.keys(names))
			if above.leaf == nil {
				return p.loss(ctx, s, names[i])
			}
			return errAgain
		}
		if !above.closed() && !below.closed() {
			continue
		}
		next, err := above.router.opened(child(names[i], names[i+1]), below)
		if err != nil {
			return err
		}
		if next == above.router {
			continue
		}
		if err := p.writeRouter(ctx, s, names[i], above, next); err != nil {
			return err
		}
	}
	return nil
}

func (r *router) opened(i int, below node) (*router, error) {
	next := *r
	next.closed = false
	if below.closed() {
		now, want := r.slots[i], slot{seq: below.seq() + 1}
		switch {
		case now.seq < want.seq:
			next.slots[i] = want
		case now.seq > want.seq || now.closed:
			return nil, errAgain
		}
	}
	if next == *r {
		return r, nil
	}
	next.seq = r.seq + 2
	return &next, nil
}
