package keytree

import (
	"context"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A store that is short of memory drops keys. A tree of which something is missing must
// not look like a smaller one.
//
// A node that is missing is noticed by the first call that needs it: it is made before the router
// above it, and never deleted while the tree uses it. A query then refuses. A writer
// makes the node again, since writing must go on. Before that it counts the loss in the
// definition, and as long as a loss is counted there no query answers. A rebuild into
// fresh nodes, from all members, takes the count back.
//
// A process uses a definition for seconds. So a writer also marks the routers on the way
// to the node, before their counts change: a query that meets a mark reads the definition
// again.
//
// The definition itself is put back from the edge, which has a copy.

// lossError says that the node called name is missing.
type lossError struct{ name, key string }

func (e *lossError) Error() string {
	return fmt.Sprintf("%v: the node %s of a ranking is lost or damaged", kvmodel.ErrNeedsRebuild, e.key)
}

func (e *lossError) Unwrap() error { return kvmodel.ErrNeedsRebuild }

// errLost says that no query of t is answered before a rebuild.
func (t *Tree) errLost(what string) error {
	return fmt.Errorf("%w: the store has lost or damaged %s of the ranking %s", kvmodel.ErrNeedsRebuild, what, t.name)
}

// Lost reports whether this process knows that a part of the tree was lost, and not yet
// that it is there again.
func (t *Tree) Lost() bool {
	m := t.latest()
	return m != nil && m.lost > 0
}

// HasLost is Lost by the definition as it is stored, or was seconds ago.
func (t *Tree) HasLost(ctx context.Context, s kv.Store) (bool, error) {
	m := t.known(s)
	var err error
	if m == nil {
		m, err = t.readMeta(ctx, s)
	}
	return m != nil && m.lost > 0 || m == nil && t.missing(), err
}

// countLoss notes in the definition that another node was lost.
func (t *Tree) countLoss(ctx context.Context, s kv.Store) error {
	m, err := t.readMeta(ctx, s)
	if m == nil || err != nil {
		return err
	}
	next := *m
	next.lost++
	return t.writeMeta(ctx, s, m, &next)
}

// putBack stores the definition again, if the tree was there: as the edge or this process
// has it, of the two the later. It returns nil if there was no tree, or nothing has a
// copy. broken is the version of a definition that is damaged, 0 if there is none. In
// place of that, if nothing has a copy, the tree begins over and has lost what it held.
func (t *Tree) putBack(ctx context.Context, s kv.Store, broken kv.Version) (*meta, error) {
	if broken == 0 && !t.missing() {
		return nil, nil
	}
	if err := t.readEdge(ctx, s); err != nil {
		return nil, err
	}
	t.mu.Lock()
	m := t.edge.copy
	if t.last != nil && (m == nil || m.epoch < t.last.epoch || m.epoch == t.last.epoch && m.lost < t.last.lost) {
		m = t.last
	}
	t.mu.Unlock()
	switch {
	case m == nil && broken == 0:
		return nil, nil
	case m == nil:
		var err error
		if m, err = t.begun(ctx, s); err != nil {
			return nil, fmt.Errorf("%w: %w", kvmodel.ErrNeedsRebuild, wire.Corrupt(t.metaKey(), err))
		}
		m.lost = 1
	}
	// Where it may not be written, or someone else was first, a read will show.
	_, _ = kv.One(ctx, s, kv.OpReplace(t.metaKey(), broken, m.encode()).For(t.nodes(m, m.epoch).ttl()))
	r, _ := kv.One(ctx, s, kv.OpGet(t.metaKey()))
	there, err := decodeMeta(r)
	if there == nil && (err == nil || wire.IsCorrupt(err)) {
		return m, nil
	}
	return there, err
}

// missing reports whether a tree without a definition is known to have had one.
func (t *Tree) missing() bool {
	t.mu.Lock()
	there := t.last != nil || t.edge.epoch != 0
	t.mu.Unlock()
	return there && !t.ended()
}

// ended reports whether the tree ends so soon that what is missing may have ended.
func (t *Tree) ended() bool {
	return !t.Expires.IsZero() && t.Expires.Sub(t.Now()) < time.Minute
}

// witness stores a copy of m in the edge, in the background, unless it is there.
func (t *Tree) witness(m *meta) {
	if m == nil || t.Later == nil || t.ended() {
		return
	}
	e := t.knownEdge()
	if e.copy != nil && e.epoch == m.epoch && e.copy.lost == m.lost {
		return
	}
	t.Later(func(ctx context.Context, s kv.Store) error {
		e := t.knownEdge() // It may have been noted by now.
		if e.epoch != m.epoch {
			e = edge{noted: e.noted}
		}
		return t.putEdge(ctx, s, e, m)
	})
}
