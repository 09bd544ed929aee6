package keytree

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func (t *Tree) metaKey() string { return t.name + metaName }

// readMeta returns nil if there is no definition. It restores a lost one.
func (t *Tree) readMeta(ctx context.Context, s kv.Store) (*meta, error) {
	asked := t.Now()
	var r kv.Result
	works := []func(kv.Store) error{
		func(s kv.Store) error { r, _ = kv.One(ctx, s, kv.OpGet(t.metaKey())); return nil },
	}
	if t.unseen() { // Only the edge shows that a definition was lost.
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
		return nil, fmt.Errorf("%w: the ranking %s has scores of another kind", kvmodel.ErrNeedsRebuild, t.name)
	}
	t.know(m, asked)
	t.witness(m)
	return m, nil
}

// create makes the tree, unless another process does. The first epoch is the current time, so that
// the tree adopts no nodes of an earlier one.
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

func (t *Tree) begun(ctx context.Context, s kv.Store) (*meta, error) {
	m := &meta{order: order{code: t.Code}, limit: cmp.Or(t.Limit, entryLimit), epoch: uint64(t.Now().UnixMilli())}
	copy(m.salt[:], kv.RandomBytes(len(m.salt)))
	return m, t.addRoot(ctx, s, m, m.epoch)
}

func (t *Tree) addRoot(ctx context.Context, s kv.Store, m *meta, epoch uint64) error {
	p := t.nodes(m, epoch)
	for {
		err := p.write(ctx, s, p.root, node{}, new(leaf).encode(nil))
		if err == nil || !again(err) {
			return err
		}
		got, err := p.get(ctx, s, "")
		if err != nil || got[0].version != 0 {
			return err
		}
	}
}

func (t *Tree) writeMeta(ctx context.Context, s kv.Store, m, next *meta) error {
	t.writing(s)
	_, err := kv.One(ctx, s, kv.OpSwap(t.metaKey(), m.version, next.encode()).For(t.nodes(m, m.epoch).ttl()))
	return refused(ctx, err)
}

// putBack stores a lost definition again, the later of the copies in the edge and in this process;
// nil: there was no tree, or is no copy. A damaged tree without a copy begins over as lost. broken
// is the version of a damaged definition, or 0.
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
	_, _ = kv.One(ctx, s, kv.OpReplace(t.metaKey(), broken, m.encode()).For(t.nodes(m, m.epoch).ttl()))
	r, _ := kv.One(ctx, s, kv.OpGet(t.metaKey()))
	there, err := decodeMeta(r)
	if there == nil && (err == nil || wire.IsCorrupt(err)) {
		return m, nil
	}
	return there, err
}

func (t *Tree) missing() bool {
	t.mu.Lock()
	there := t.last != nil || t.edge.epoch != 0
	t.mu.Unlock()
	return there && !t.ended()
}

// ended reports whether missing nodes may have expired.
func (t *Tree) ended() bool {
	return !t.Expires.IsZero() && t.Expires.Sub(t.Now()) < time.Minute
}

func (t *Tree) witness(m *meta) {
	if m == nil || t.Later == nil || t.ended() {
		return
	}
	e := t.knownEdge()
	if e.copy != nil && e.epoch == m.epoch && e.copy.lost == m.lost {
		return
	}
	t.Later(func(ctx context.Context, s kv.Store) error {
		e := t.knownEdge()
		if e.epoch != m.epoch {
			e = edge{noted: e.noted}
		}
		return t.putEdge(ctx, s, e, m)
	})
}

func (t *Tree) edgeKey() string { return t.name + ":edge" }

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
	body.copyTo(read.copy.salt[:])
	read.copy.limit, read.copy.lost = int(body.number()), body.number() > 0
	if body.end("edge") == nil && t.isName(read.highest) && t.isName(read.lowest) {
		t.keepEdge(read)
	}
	return nil
}

func (t *Tree) putEdge(ctx context.Context, s kv.Store, e edge, m *meta) error {
	kept := meta{order: m.order, limit: m.limit, epoch: m.epoch, lost: m.lost}
	e.epoch, e.copy = m.epoch, &kept
	_, err := kv.One(ctx, s, kv.OpSet(t.edgeKey(), e.encode()).For(t.nodes(m, m.epoch).ttl()))
	if err == nil {
		t.keepEdge(e)
	}
	return err
}

func (t *Tree) isName(name string) bool {
	return strings.Trim(name, "01") == "" && len(name)%perLevel == 0 && len(name) <= t.Code.maxBits()
}

type epochs struct {
	read  *nodes // nil: no such tree yet
	write []*nodes
	lost  bool // until a rebuild

	current nodes     // read
	one     [1]*nodes // write, mostly
}

// beside runs in the trip that reads the definition. A writer creates the tree.
func (t *Tree) epochs(ctx context.Context, s kv.Store, writes bool, beside ...func(kv.Store) error) (*epochs, error) {
	began := t.Now()
	m, err := t.definition(ctx, s, beside)
	if err == nil && m == nil && writes {
		m, err = t.create(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	return t.epochsOf(m, began), nil
}

func (t *Tree) definition(ctx context.Context, s kv.Store, beside []func(kv.Store) error) (*meta, error) {
	if m := t.known(s); m != nil {
		return m, together(ctx, s, beside...)
	}
	var m *meta
	works := append(beside[:len(beside):len(beside)], func(s kv.Store) (err error) { m, err = t.readMeta(ctx, s); return err })
	err := together(ctx, s, works...)
	return m, err
}

func (t *Tree) epochsOf(m *meta, began time.Time) *epochs {
	if m == nil {
		return &epochs{}
	}
	ep := &epochs{lost: m.lost}
	t.open(&ep.current, m, m.epoch)
	ep.current.began = began
	ep.read, ep.one[0] = &ep.current, &ep.current
	ep.write = ep.one[:]
	if m.phase != idle {
		other := t.nodes(m, m.other)
		other.began = began
		ep.write = append(ep.write, other)
	}
	return ep
}

const beginTries = 8

// begin does work again if the epochs were out of date or one has lost a node.
func (t *Tree) begin(ctx context.Context, s kv.Store, work func(*epochs) error, beside ...func(kv.Store) error) error {
	var err error
	for range beginTries {
		var ep *epochs
		if ep, err = t.epochs(ctx, s, true, beside...); err != nil {
			return err
		}
		var loss *lossError
		switch err = work(ep); {
		case errors.As(err, &loss):
			t.forget()
			if err := t.distrust(ctx, s, loss.epoch); err != nil && !again(err) {
				return err
			}
		case errors.Is(err, errLate):
			t.forget()
		default:
			return err
		}
	}
	return err
}

// Distrust returns the epoch that a rebuild has to fill after a loss, or 0. If err, of another
// call, says that a node is missing, it checks that and moves the tree on.
func (t *Tree) Distrust(ctx context.Context, s kv.Store, err error) (epoch uint64, _ error) {
	var loss *lossError
	if errors.As(err, &loss) {
		err := t.begin(ctx, s, func(ep *epochs) error {
			at := slices.IndexFunc(ep.write, func(p *nodes) bool { return p.epoch == loss.epoch })
			if at < 0 {
				return nil
			}
			if err := ep.write[at].loss(ctx, s, loss.name); !again(err) {
				return err
			}
			return nil
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

type phase byte

const (
	idle    phase = iota
	copying       // readers use epoch; writers also write other, which is being filled
	drained       // readers use epoch; some may still use other, which is written too
)

type meta struct {
	order
	limit int
	epoch uint64
	phase phase
	other uint64   // also written, unless idle
	lost  bool     // epoch waits for a rebuild
	old   []uint64 // lost epochs, which the rebuild deletes

	version kv.Version
}

const maxOld = 16

func (m *meta) oldAnd(epoch uint64) []uint64 {
	if len(m.old) == maxOld {
		return m.old
	}
	return append(slices.Clone(m.old), epoch)
}

const metaName = ":meta"

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
	body.copyTo(m.salt[:])
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

func keepMeta(value []byte) (any, int, error) {
	m, err := decodeMeta(kv.Result{Value: value})
	return m, int(unsafe.Sizeof(*m)), err
}

// edge proves that the tree exists, and names the outermost leaves, a hint for processes that have
// not read the tree.
type edge struct {
	epoch   uint64
	highest string
	lowest  string
	copy    *meta // of the definition; nil: unknown
	noted   time.Time
}

func (e *edge) encode() []byte {
	b := binary.AppendUvarint(append([]byte(magic), edgeKind), e.epoch)
	b = wire.AppendText(wire.AppendText(b, e.highest), e.lowest)
	b = append(append(b, byte(e.copy.code)), e.copy.salt[:]...)
	return frame.Whole(appendFlag(binary.AppendUvarint(b, uint64(e.copy.limit)), e.copy.lost))
}

// Every value begins with magic and its kind, and ends with a checksum.
const magic = "K1"

// ErrCorrupt: the value is damaged or has another format.
func unseal(value []byte) (kind byte, body reader, err error) {
	payload, damaged := frame.Open(value)
	switch {
	case len(payload) < len(magic)+1 || string(payload[:len(magic)]) != magic:
		return 0, reader{}, fmt.Errorf("%w: not a value of a ranking: %.20q", kvmodel.ErrCorrupt, value)
	case damaged != nil:
		return 0, reader{}, fmt.Errorf("a value of a ranking: %w", damaged)
	}
	return payload[len(magic)], readerOf(payload[len(magic)+1:]), nil
}

type reader struct{ wire.Reader }

func readerOf(b []byte) reader { return reader{wire.Reader{Rest: b}} }

func (r *reader) copyTo(dst []byte) {
	if len(dst) > len(r.Rest) {
		r.Fail("end")
		return
	}
	r.Rest = r.Rest[copy(dst, r.Rest):]
}

func (r *reader) uint48() uint64 {
	var b [8]byte
	r.copyTo(b[2:])
	return binary.BigEndian.Uint64(b[:])
}

func (r *reader) number() uint64 { return r.Number("number", math.MaxUint64) }

func (r *reader) end(what string) error {
	if r.Err != nil || len(r.Rest) > 0 {
		return fmt.Errorf("%w: %s of a ranking", kvmodel.ErrCorrupt, what)
	}
	return nil
}

func appendUint48(dst []byte, n uint64) []byte {
	return append(dst, byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func appendFlag(dst []byte, flag bool) []byte {
	if flag {
		return append(dst, 1)
	}
	return append(dst, 0)
}
