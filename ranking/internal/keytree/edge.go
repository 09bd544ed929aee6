package keytree

import (
	"context"
	"encoding/binary"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// edge names the highest and the lowest leaf that held an entry. It is a hint for
// a process that knows nothing of the tree yet. An outdated one only costs a few
// trips.
type edge struct {
	epoch   uint64
	highest string
	lowest  string
	noted   time.Time // in this process
}

// edgeEvery is how often a process stores an edge that has moved.
const edgeEvery = time.Minute

func (t *Tree) edgeKey() string { return t.name + ":edge" }

func (e *edge) encode() []byte {
	b := binary.AppendUvarint(append([]byte(magic), edgeKind), e.epoch)
	return seal(wire.AppendText(wire.AppendText(b, e.highest), e.lowest))
}

// readEdge fills e with the hint, if there is one.
func (t *Tree) readEdge(ctx context.Context, s kv.Store, e *edge) error {
	r, err := kv.One(ctx, s, kv.OpGet(t.edgeKey()))
	if err != nil {
		return unlessAbsent(err)
	}
	kind, body, err := unseal(r.Value)
	if err != nil || kind != edgeKind {
		return nil
	}
	read := edge{epoch: body.number(), highest: body.Text("edge"), lowest: body.Text("edge")}
	if body.end("edge") == nil && isName(read.highest) && isName(read.lowest) {
		*e = read
		t.keepEdge(read)
	}
	return nil
}

// isName reports whether name can be the name of a node.
func isName(name string) bool {
	return strings.Trim(name, "01") == "" && len(name)%perLevel == 0 && len(name) <= maxBits
}

func (t *Tree) keepEdge(e edge) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.edge = e
}

// unseen reports whether this process knows nothing of the tree yet.
func (t *Tree) unseen() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.meta == nil && t.edge.epoch == 0
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
	t.mu.Lock()
	e := t.edge
	t.mu.Unlock()
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
	*at, e.noted = name, t.Now()
	t.keepEdge(e)
	t.Later(func(ctx context.Context, s kv.Store) error {
		_, err := kv.One(ctx, s, kv.OpSet(t.edgeKey(), e.encode()).For(r.ttl()))
		return err
	})
}

// path returns the names of a node and of all nodes above it, from the root down.
func path(name string) []string { return way(name, "", len(name)/perLevel+1) }
