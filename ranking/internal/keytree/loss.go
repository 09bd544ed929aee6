package keytree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A store that is short of memory drops keys. A tree with missing nodes must not look like a
// smaller tree.
//
// A node is made before the router above it, and never deleted while the tree uses it. So the
// first call that needs one that is missing notices that. A query refuses. A writer distrusts
// the tree: it goes on in a fresh epoch, which no query reads until a rebuild has filled it from
// the records of all members. Nothing is mended in place.
//
// A process uses a definition for seconds. So first the root of the epoch before is sealed: each
// query needs it, and finds that it is missing.
//
// A lost definition is restored from the copy in the edge.

// lossError says that a node is missing.
type lossError struct {
	epoch     uint64
	name, key string
}

func (e *lossError) Error() string {
	return fmt.Sprintf("%v: the node %s of a ranking is lost or damaged", kvmodel.ErrNeedsRebuild, e.key)
}

func (e *lossError) Unwrap() error { return kvmodel.ErrNeedsRebuild }

// errLost is the error of queries on t until a rebuild.
func (t *Tree) errLost(what string) error {
	return fmt.Errorf("%w: the store has lost or damaged %s of the ranking %s", kvmodel.ErrNeedsRebuild, what, t.name)
}

// Lost reports whether this process knows of a loss in the tree, and not of a rebuild since.
func (t *Tree) Lost() bool {
	m := t.latest()
	return m != nil && m.lost
}

// Distrust returns the epoch that a rebuild has to fill from all members, since a part of the
// tree was lost; 0 if none was. That begins now if err, of another call, says that a node is
// missing, and that is so.
func (t *Tree) Distrust(ctx context.Context, s kv.Store, err error) (epoch uint64, _ error) {
	var loss *lossError
	if errors.As(err, &loss) {
		err := t.begin(ctx, s, func(ep *epochs) error {
			at := slices.IndexFunc(ep.write, func(p *nodes) bool { return p.epoch == loss.epoch })
			if at < 0 {
				return nil
			}
			return unlessAgain(ep.write[at].loss(ctx, s, loss.name))
		})
		if err != nil {
			return 0, err
		}
	}
	m, err := t.readMeta(ctx, s)
	if m == nil || err != nil || !m.lost {
		return 0, err
	}
	return m.epoch, nil
}

// distrust makes the tree go on in a fresh epoch, which is to be filled, unless the one that has
// lost a node is no longer written.
func (t *Tree) distrust(ctx context.Context, s kv.Store, epoch uint64) error {
	m, err := t.readMeta(ctx, s)
	if m == nil || err != nil || !m.writes(epoch) {
		return err
	}
	next := *m
	next.epoch, next.phase, next.other, next.lost = max(m.epoch, m.other)+1, idle, 0, true
	next.old = m.oldAnd(m.epoch)
	if m.phase != idle {
		next.old = next.oldAnd(m.other)
	}
	if err := t.addRoot(ctx, s, &next, next.epoch); err != nil {
		return err
	}
	if !m.lost {
		if err := t.nodes(m, m.epoch).seal(ctx, s); err != nil {
			return err
		}
	}
	t.Local.lose()
	return t.writeMeta(ctx, s, m, &next)
}

// seal makes the root missing for good: a write that comes late does not bring it back.
func (p *nodes) seal(ctx context.Context, s kv.Store) error {
	for {
		got, err := p.get(ctx, s, "")
		if err == nil {
			err = p.write(ctx, s, "", got[0], frame.Whole(append([]byte(magic), sealKind)))
		}
		if !again(err) {
			return err
		}
	}
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
	if t.last != nil && (m == nil || m.epoch < t.last.epoch || m.epoch == t.last.epoch && m.lost) {
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
		m.lost = true
	}
	// If the write fails or another process was first, the read below shows it.
	_, _ = kv.One(ctx, s, kv.OpReplace(t.metaKey(), broken, m.encode()).For(t.nodes(m, m.epoch).ttl()))
	r, _ := kv.One(ctx, s, kv.OpGet(t.metaKey()))
	there, err := decodeMeta(r)
	if there == nil && (err == nil || wire.IsCorrupt(err)) {
		return m, nil
	}
	return there, err
}

// missing reports whether the tree is known to have had a definition, given that it has none now.
func (t *Tree) missing() bool {
	t.mu.Lock()
	there := t.last != nil || t.edge.epoch != 0
	t.mu.Unlock()
	return there && !t.ended()
}

// ended reports whether the tree expires so soon that its missing nodes may have expired.
func (t *Tree) ended() bool {
	return !t.Expires.IsZero() && t.Expires.Sub(t.Now()) < time.Minute
}

// witness stores a copy of m in the edge, in the background, if it is not there yet.
func (t *Tree) witness(m *meta) {
	if m == nil || t.Later == nil || t.ended() {
		return
	}
	e := t.knownEdge()
	if e.copy != nil && e.epoch == m.epoch && e.copy.lost == m.lost {
		return
	}
	t.Later(func(ctx context.Context, s kv.Store) error {
		e := t.knownEdge() // It may have changed since.
		if e.epoch != m.epoch {
			e = edge{noted: e.noted}
		}
		return t.putEdge(ctx, s, e, m)
	})
}
