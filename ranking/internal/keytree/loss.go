package keytree

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A store that is short of memory drops keys, and a tree with missing nodes must not look like a
// smaller tree. A node is made before the router above it, so the first call that needs a missing
// one notices. A query refuses. A writer distrusts the tree: it goes on in a fresh epoch, which no
// query reads until a rebuild has filled it from all records. Before that it seals the root of the
// old epoch: processes use a definition for seconds, and each query needs the root.

func (t *Tree) errLost(what string) error {
	return fmt.Errorf("%w: the store has lost or damaged %s of the ranking %s", kvmodel.ErrNeedsRebuild, what, t.name)
}

// Lost reports whether this process knows of a loss, and not of a rebuild since.
func (t *Tree) Lost() bool {
	m := t.latest()
	return m != nil && m.lost
}

// distrust moves the tree on to a fresh epoch, unless epoch, which has lost a node, is no longer
// written.
func (t *Tree) distrust(ctx context.Context, s kv.Store, epoch uint64) error {
	m, err := t.readMeta(ctx, s)
	if m == nil || err != nil || epoch != m.epoch && (m.phase == idle || epoch != m.other) {
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
	t.Local.lost.Add(1)
	return t.writeMeta(ctx, s, m, &next)
}

// seal makes the root missing for good: no late write brings it back.
func (p *nodes) seal(ctx context.Context, s kv.Store) error {
	for {
		got, err := p.get(ctx, s, "")
		if err == nil {
			err = p.write(ctx, s, p.root, got[0], frame.Whole(append([]byte(magic), sealKind)))
		}
		if !again(err) {
			return err
		}
	}
}
