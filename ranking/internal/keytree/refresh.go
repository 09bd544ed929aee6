package keytree

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// sideBySide bounds the members below a router whose nodes are read in parallel.
const sideBySide = 64 * entryLimit / 2

// Refresh makes the counts of all routers exact, unless the tree changes meanwhile.
func (t *Tree) Refresh(ctx context.Context, s kv.Store) error {
	ep, err := t.epochs(ctx, s, false)
	if err != nil || ep.read == nil {
		return err
	}
	if ep.lost {
		return t.errLost("a part")
	}
	p := *ep.read
	p.began = time.Time{}
	_, err = p.refresh(ctx, s, "")
	return err
}

func (p *nodes) refresh(ctx context.Context, s kv.Store, name string) (slot, error) {
	got, err := p.get(ctx, s, name)
	if err != nil {
		return slot{}, err
	}
	switch {
	case got[0].leaf != nil:
		return slot{p.live(got[0].leaf), got[0].leaf.seq, got[0].leaf.closed}, nil
	case got[0].router == nil:
		return slot{}, &lossError{p.epoch, name, p.key(name)}
	}
	below, err := p.refreshBelow(ctx, s, name, got[0].router)
	if err != nil {
		return slot{}, err
	}
	for range reportTries {
		next := p.refreshed(name, got[0].router, below)
		own := slot{next.pushed, next.seq, next.closed}
		if *next == *got[0].router {
			return own, nil
		}
		next.seq++
		own.seq++
		err := p.writeRouter(ctx, s, name, got[0], next)
		if err == nil || !again(err) {
			return own, err
		}
		if got, err = p.get(ctx, s, name); err != nil || got[0].router == nil {
			return slot{}, err
		}
	}
	// Another process is writing there; its next report corrects the count.
	return slot{}, nil
}

func (p *nodes) refreshBelow(ctx context.Context, s kv.Store, name string, r *router) (below [4]slot, err error) {
	err = r.eachBelow(ctx, s, func(s kv.Store, i int, at slot) (err error) {
		if below[i] = at; !at.closed {
			below[i], err = p.refresh(ctx, s, childName(name, i))
		}
		return err
	})
	return below, err
}

func (r *router) eachBelow(ctx context.Context, s kv.Store, work func(s kv.Store, i int, at slot) error) error {
	if r.members() <= sideBySide {
		return each(ctx, s, r.slots[:], work)
	}
	for i, at := range r.slots {
		if err := work(s, i, at); err != nil {
			return err
		}
	}
	return nil
}

func (p *nodes) refreshed(name string, r *router, below [4]slot) *router {
	next := *r
	for i, now := range below {
		next.slots[i] = next.slots[i].after(now)
	}
	next.pushed = p.total(name, &next)
	return &next
}
