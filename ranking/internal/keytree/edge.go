package keytree

import (
	"context"
	"encoding/binary"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// edge names the highest and the lowest leaf with an entry, as a hint for processes that have not
// read the tree. An outdated hint costs only a few trips. The edge also proves that the tree
// exists, and holds a copy of its definition.
type edge struct {
	epoch   uint64
	highest string
	lowest  string
	copy    *meta     // of the definition, in case that is lost; nil: unknown
	noted   time.Time // by this process
}

// edgeEvery is the minimum time between two writes of a moved edge by one process.
const edgeEvery = time.Minute

func (t *Tree) edgeKey() string { return t.name + ":edge" }

func (e *edge) encode() []byte {
	b := binary.AppendUvarint(append([]byte(magic), edgeKind), e.epoch)
	b = wire.AppendText(wire.AppendText(b, e.highest), e.lowest)
	b = append(append(b, byte(e.copy.code)), e.copy.salt[:]...)
	return frame.Whole(appendFlag(binary.AppendUvarint(b, uint64(e.copy.limit)), e.copy.lost))
}

// readEdge reads the edge and keeps it, if it exists.
func (t *Tree) readEdge(ctx context.Context, s kv.Store) error {
	r, err := kv.One(ctx, s, kv.OpGet(t.edgeKey()))
	if err != nil {
		if err = unlessAbsent(err); err == nil {
			t.keepEdge(edge{noted: t.knownEdge().noted})
		}
		return err
	}
	kind, body, err := unseal(r.Value)
	if err != nil || kind != edgeKind {
		return nil
	}
	read := edge{epoch: body.number(), highest: body.Text("edge"), lowest: body.Text("edge"), noted: t.knownEdge().noted}
	read.copy = &meta{order: order{code: Code(body.Byte())}, epoch: read.epoch}
	body.take(read.copy.salt[:])
	read.copy.limit, read.copy.lost = int(body.number()), body.number() > 0
	if body.end("edge") == nil && t.isName(read.highest) && t.isName(read.lowest) {
		t.keepEdge(read)
	}
	return nil
}

// putEdge stores e, with a copy of m.
func (t *Tree) putEdge(ctx context.Context, s kv.Store, e edge, m *meta) error {
	kept := meta{order: m.order, limit: m.limit, epoch: m.epoch, lost: m.lost}
	e.epoch, e.copy = m.epoch, &kept
	_, err := kv.One(ctx, s, kv.OpSet(t.edgeKey(), e.encode()).For(t.nodes(m, m.epoch).ttl()))
	if err == nil {
		t.keepEdge(e)
	}
	return err
}

// isName reports whether name is valid for a node.
func (t *Tree) isName(name string) bool {
	return strings.Trim(name, "01") == "" && len(name)%perLevel == 0 && len(name) <= t.Code.maxBits()
}

func (t *Tree) knownEdge() edge {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.edge
}

func (t *Tree) keepEdge(e edge) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.edge = e
}

// unseen reports whether this process has not read the tree, or may have read it in a transaction
// that was undone.
func (t *Tree) unseen() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.Atomic || t.last == nil && t.edge.epoch == 0
}

// outermost returns the name of the first leaf with an entry, from the highest or the lowest; "" if
// that leaf was not read.
func (r *reading) outermost(down bool) (found string) {
	r.leaves(r.known, Between{}.stretch(down), func(name string, l *leaf) bool {
		if l != nil && len(l.entries) > 0 {
			found = name
		}
		return l != nil && found == ""
	})
	return found
}

// noteEdge stores the edge that r found, if the hint is wrong.
func (t *Tree) noteEdge(r *reading, down bool) {
	name := r.outermost(down)
	e := t.knownEdge()
	if e.epoch != r.epoch {
		e = edge{epoch: r.epoch}
	}
	at := &e.lowest
	if down {
		at = &e.highest
	}
	if name == *at || t.Later == nil || !e.noted.IsZero() && t.Now().Sub(e.noted) < edgeEvery {
		return
	}
	m := t.latest()
	if m == nil || m.epoch != r.epoch {
		return
	}
	// putEdge keeps the rest once it is stored, since Later may drop the work.
	e.noted = t.Now()
	t.keepEdge(e)
	*at = name
	t.Later(func(ctx context.Context, s kv.Store) error { return t.putEdge(ctx, s, e, m) })
}

// path returns the names of the nodes from the root down to name.
func path(name string) []string { return way(name, "", len(name)/perLevel+1) }
