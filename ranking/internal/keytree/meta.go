package keytree

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// phase is the set of epochs that writers use.
type phase byte

const (
	idle    phase = iota // one epoch
	copying              // readers use epoch; writers also write other, which is being filled
	drained              // readers use epoch; writers still write other, which some readers may use
)

// meta is the definition of a tree. A tree exists if it has one.
type meta struct {
	order
	limit int // entries per leaf
	epoch uint64
	phase phase
	other uint64   // the other epoch that is written, unless idle
	lost  bool     // epoch is to be filled by a rebuild: those before it have lost something
	old   []uint64 // of a tree that is lost: the epochs before, which the rebuild deletes

	version kv.Version
}

// maxOld is how many epochs of a tree that loses node after node are deleted later.
const maxOld = 16

// oldAnd returns the epochs to delete, with one more.
func (m *meta) oldAnd(epoch uint64) []uint64 {
	if len(m.old) == maxOld {
		return m.old
	}
	return append(slices.Clone(m.old), epoch)
}

// writes reports whether writers write epoch.
func (m *meta) writes(epoch uint64) bool {
	return epoch == m.epoch || m.phase != idle && epoch == m.other
}

// metaName ends the key of a definition.
const metaName = ":meta"

func (t *Tree) metaKey() string { return t.name + metaName }

func (m *meta) encode() []byte {
	b := append([]byte(magic), metaKind, byte(m.code))
	b = append(b, m.salt[:]...)
	b = binary.AppendUvarint(b, uint64(m.limit))
	b = binary.AppendUvarint(b, m.epoch)
	b = append(b, byte(m.phase))
	b = binary.AppendUvarint(b, m.other)
	if m.lost {
		b = append(b, 1)
	}
	for _, epoch := range m.old {
		b = binary.AppendUvarint(b, epoch)
	}
	return frame.Whole(b)
}

func decodeMeta(r kv.Result) (*meta, error) {
	if r.Err != nil {
		return nil, unlessAbsent(r.Err)
	}
	kind, body, err := unseal(r.Value)
	if err != nil {
		return nil, err
	}
	m := &meta{version: r.Version}
	m.code = Code(body.Byte())
	body.take(m.salt[:])
	m.limit = int(body.number())
	m.epoch, m.phase, m.other = body.number(), phase(body.Byte()), body.number()
	if len(body.Rest) > 0 {
		m.lost = body.number() > 0
	}
	for len(body.Rest) > 0 && body.Err == nil {
		m.old = append(m.old, body.number())
	}
	if kind != metaKind || !m.code.known() || m.limit < 2 || m.phase > drained {
		body.Fail("definition")
	}
	return m, body.end("definition")
}

// keepMeta is the Decoder of definitions.
func keepMeta(value []byte) (any, int, error) {
	m, err := decodeMeta(kv.Result{Value: value})
	return m, int(unsafe.Sizeof(*m)), err
}

// readMeta returns the tree's definition, or nil if there is none. A process that does not know the
// tree reads the edge in the same trip. A lost definition is restored.
func (t *Tree) readMeta(ctx context.Context, s kv.Store) (*meta, error) {
	asked := t.Now()
	var r kv.Result
	works := []func(kv.Store) error{
		func(s kv.Store) error { r, _ = kv.One(ctx, s, kv.OpGet(t.metaKey())); return nil },
	}
	if t.unseen() {
		works = append(works, func(s kv.Store) error { return t.readEdge(ctx, s) })
	}
	if err := together(ctx, s, works...); err != nil {
		return nil, err
	}
	m, err := decodeMeta(r)
	if m == nil && (err == nil || wire.IsCorrupt(err)) {
		m, err = t.putBack(ctx, s, r.Version)
	}
	if err != nil {
		return nil, err
	}
	if m != nil && m.code != t.Code {
		return nil, fmt.Errorf("%w: the ranking %s orders scores of another kind", kvmodel.ErrNeedsRebuild, t.name)
	}
	t.know(m, asked)
	t.witness(m)
	return m, nil
}

// create makes the tree and returns its definition, or that of another process that made it at the
// same time. It adds the root first. The first epoch is the current time, so that the tree does not
// adopt nodes of an earlier tree whose definition was lost.
func (t *Tree) create(ctx context.Context, s kv.Store) (*meta, error) {
	asked := t.Now()
	m, err := t.begun(ctx, s)
	if err != nil {
		return nil, err
	}
	if t.missing() {
		m.lost = true
	}
	t.writing(s)
	for {
		_, err := kv.One(ctx, s, kv.OpAdd(t.metaKey(), m.encode()).For(t.nodes(m, m.epoch).ttl()))
		if err == nil {
			t.know(m, asked)
		}
		if err == nil && t.Atomic {
			return m, t.putEdge(ctx, s, edge{}, m)
		}
		if err == nil {
			t.witness(m)
			return m, nil
		}
		if !errors.Is(err, kv.ErrExists) && !errors.Is(err, kv.ErrUnclear) || ctx.Err() != nil {
			return nil, err
		}
		if there, err := t.readMeta(ctx, s); there != nil || err != nil {
			return there, err
		}
	}
}

// begun adds the root of a new tree and returns its definition.
func (t *Tree) begun(ctx context.Context, s kv.Store) (*meta, error) {
	m := &meta{order: order{code: t.Code}, limit: cmp.Or(t.Limit, entryLimit), epoch: uint64(t.Now().UnixMilli())}
	copy(m.salt[:], kv.RandomBytes(len(m.salt)))
	return m, t.addRoot(ctx, s, m, m.epoch)
}

// addRoot adds the empty root of an epoch.
func (t *Tree) addRoot(ctx context.Context, s kv.Store, m *meta, epoch uint64) error {
	p := t.nodes(m, epoch)
	for {
		err := p.write(ctx, s, "", node{}, new(leaf).encode())
		if err == nil || !again(err) {
			return err
		}
		got, err := p.get(ctx, s, "")
		if err != nil || got[0].version != 0 {
			return err
		}
	}
}

// writeMeta replaces m with next. After errAgain, a read shows whether it did.
func (t *Tree) writeMeta(ctx context.Context, s kv.Store, m, next *meta) error {
	t.writing(s)
	_, err := kv.One(ctx, s, kv.OpSwap(t.metaKey(), m.version, next.encode()).For(t.nodes(m, m.epoch).ttl()))
	return lost(ctx, err)
}
