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

// edge names the highest and the lowest leaf that held an entry. It is a hint for
// a process that knows nothing of the tree yet. An outdated one only costs a few
// trips. It also bears witness that the tree is there, with a copy of the definition.
type edge struct {
	epoch   uint64
	highest string
	lowest  string
	copy    *meta     // of the tree, in case that is lost; nil: none is known
	noted   time.Time // in this process
}

// edgeEvery is how often a process stores an edge that has moved.
const edgeEvery = time.Minute

func (t *Tree) edgeKey() string { return t.name + ":edge" }

func (e *edge) encode() []byte {
	b := binary.AppendUvarint(append([]byte(magic), edgeKind), e.epoch)
	b = wire.AppendText(wire.AppendText(b, e.highest), e.lowest)
	b = append(append(b, byte(e.copy.code)), e.copy.salt[:]...)
	return frame.Whole(appendFlag(binary.AppendUvarint(b, uint64(e.copy.limit)), e.copy.lost))
}

// readEdge reads the hint and keeps it, if there is one.
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

// isName reports whether name can be the name of a node.
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

// unseen reports whether this process knows nothing of the tree yet, or may be wrong.
func (t *Tree) unseen() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.Atomic || t.last == nil && t.edge.epoch == 0
}

// outermost returns the name of the first leaf that holds an entry, from the
// highest or the lowest; "" if that was not read.
func (r *reading) outermost(down bool) (found string) {
	r.leaves(r.known, Between{}.stretch(down), func(name string, l *leaf) bool {
		if l != nil && len(l.entries) > 0 {
			found = name
		}
		return l != nil && found == ""
	})
	return found
}

// noteEdge stores where r found the tree's edge, if the hint is wrong.
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
	// What is stored is kept once it is: it may be left undone.
	e.noted = t.Now()
	t.keepEdge(e)
	*at = name
	t.Later(func(ctx context.Context, s kv.Store) error { return t.putEdge(ctx, s, e, m) })
}

// path returns the names of a node and of all nodes above it, from the root down.
func path(name string) []string { return way(name, "", len(name)/perLevel+1) }
