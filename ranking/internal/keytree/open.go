package keytree

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// open opens the path to the closed leaf at, from the root down, before an entry is added.
// Afterwards no slot on the path is closed, and no report in flight can close one, because the
// slots have later sequence numbers.
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

// opened returns r with the child's slot open, or r itself. errAgain: the child has changed.
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
