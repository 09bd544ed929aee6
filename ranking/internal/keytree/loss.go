package keytree

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/internal/frame"
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

// errLost is the error of queries on t until a rebuild.
func (t *Tree) errLost(what string) error {
	return fmt.Errorf("%w: the store has lost or damaged %s of the ranking %s", kvmodel.ErrNeedsRebuild, what, t.name)
}

// Lost reports whether this process knows of a loss in the tree, and not of a rebuild since.
func (t *Tree) Lost() bool {
	m := t.latest()
	return m != nil && m.lost
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
