package keytree

import (
	"context"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type spot struct {
	name string
	node
}

// levelsAhead is the number of levels read at once by a process that has not read the tree. The
// paths to many leaves share few nodes on deeper levels.
const levelsAhead = 15

const aheadOfMany = 4

// guess returns the first node on the path of bits not known to be a router, and whether any is
// known.
func (p *nodes) guess(bits string) (name string, known bool) {
	n, known := p.local.follow(p.code, p.root, bits)
	return bits[:n], known
}

// find takes one trip if the paths are known or nothing is. Otherwise it reads more nodes with each
// trip, in case many were split.
func (p *nodes) find(ctx context.Context, s kv.Store, edits []*edit) ([]*spot, error) {
	if len(edits) == 1 && inside(s) {
		if at, err := p.findOne(ctx, s, edits[0].bits); at != nil || err != nil {
			return []*spot{at}, err
		}
	}
	ways := make([]search, len(edits))
	for i, e := range edits {
		ways[i] = p.search(e.bits, len(edits))
	}
	var met nodeSet
	for {
		names := unread(ways)
		if len(names) == 0 {
			break
		}
		got, err := p.get(ctx, s, names...)
		if err != nil {
			return nil, err
		}
		for i, name := range names {
			met.put(name, got[i])
		}
		if err := p.follow(ctx, s, ways, &met); err != nil {
			return nil, err
		}
	}
	spots := make([]*spot, len(ways))
	for i, w := range ways {
		spots[i] = w.at
	}
	return spots, nil
}

// findOne reads one node after the other. It returns nil if one is missing or splitting.
func (p *nodes) findOne(ctx context.Context, s kv.Store, bits string) (*spot, error) {
	for range len(bits) {
		name, _ := p.guess(bits)
		key := p.key(name)
		op := kv.OpGet(key)
		op.Near = true // The value may be shared.
		r, _ := kv.One(ctx, s, op)
		at, err := p.nodeOf(name, key, r)
		if err == nil && (at.router != nil || name == "") {
			p.local.remember(key, at.router)
		}
		switch {
		case err != nil:
			return nil, err
		case at.router != nil:
		case at.leaf == nil || at.leaf.splitting:
			return nil, nil
		default:
			return &spot{name, at}, nil
		}
	}
	return nil, nil
}

type search struct {
	bits    string
	name    string // the first node not known to be a router
	width   int    // number of nodes to read
	missing int    // how often a node was missing
	splits  int    // how often a node was splitting
	at      *spot  // nil: not found yet
}

func (p *nodes) search(bits string, n int) search {
	w := search{bits: bits, width: 1}
	var known bool
	if w.name, known = p.guess(w.bits); !known {
		w.width = levelsAhead
		if n > 1 {
			w.width = aheadOfMany
		}
	}
	return w
}

func unread(ways []search) []string {
	var names []string
	for _, w := range ways {
		if w.at == nil {
			names = append(names, way(w.bits, w.name, w.width)...)
		}
	}
	return uniq(names)
}

func (p *nodes) follow(ctx context.Context, s kv.Store, ways []search, met *nodeSet) error {
	var helped map[string]bool
	for i := range ways {
		w := &ways[i]
		if w.at != nil {
			continue
		}
		found := w.follow(met)
		if found == nil {
			continue
		}
		if helped == nil {
			helped = make(map[string]bool)
		}
		var err error
		switch first := !helped[found.name]; {
		case found.leaf == nil:
			// It may have been read before it was made, or the transaction that made its router was
			// undone.
			if w.missing++; w.missing > 1 && first {
				helped[found.name] = true
				err = p.loss(ctx, s, found.name)
			}
			p.local.forget(p.keys(path(found.name)))
			w.name = ""
		case first:
			helped[found.name] = true
			w.splits++
			err = p.finishSplit(ctx, s, found.name, found.node, w.splits <= patience)
		}
		if err != nil && !again(err) {
			return err
		}
	}
	return nil
}

// follow returns the obstacle, a splitting or missing node, or nil.
func (w *search) follow(met *nodeSet) *spot {
	for _, name := range way(w.bits, w.name, w.width) {
		found, _ := met.get(name)
		if found.router != nil {
			w.name = w.bits[:len(name)+perLevel]
			continue
		}
		at := &spot{name, found}
		if at.leaf == nil || at.leaf.splitting {
			w.name, w.width = name, 2
			return at
		}
		w.at = at
		return nil
	}
	w.width *= 2
	return nil
}

func way(bits, name string, width int) []string {
	names := []string{name}
	for n := len(name) + perLevel; n <= len(bits) && len(names) < width; n += perLevel {
		names = append(names, bits[:n])
	}
	return names
}

func path(name string) []string { return way(name, "", len(name)/perLevel+1) }

// loss returns a lossError if the routers above lead to the missing node.
func (p *nodes) loss(ctx context.Context, s kv.Store, name string) error {
	way := path(name)
	above, err := p.get(ctx, s, way[:len(way)-1]...)
	if err != nil {
		return err
	}
	at, err := p.get(ctx, s, name)
	if err != nil {
		return err
	}
	if !at[0].missing() || slices.ContainsFunc(above, func(nd node) bool { return nd.router == nil }) {
		return errAgain
	}
	return &lossError{p.epoch, name, p.key(name)}
}

type lossError struct {
	epoch     uint64
	name, key string
}

func (e *lossError) Error() string {
	return fmt.Sprintf("%v: the node %s of a ranking is lost or damaged", kvmodel.ErrNeedsRebuild, e.key)
}

func (e *lossError) Unwrap() error { return kvmodel.ErrNeedsRebuild }
