package keytree

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

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

func (m *meta) writes(epoch uint64) bool {
	return epoch == m.epoch || m.phase != idle && epoch == m.other
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

func keepMeta(value []byte) (any, int, error) {
	m, err := decodeMeta(kv.Result{Value: value})
	return m, int(unsafe.Sizeof(*m)), err
}

// edge proves that the tree exists, and names the outermost leaves with an entry, a hint for
// processes that have not read the tree.
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

// unseal returns the kind and the body of a stored value. ErrCorrupt: it is damaged or has another
// format.
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

func (r *reader) take(dst []byte) {
	if len(dst) > len(r.Rest) {
		r.Fail("end")
		return
	}
	r.Rest = r.Rest[copy(dst, r.Rest):]
}

func (r *reader) uint48() uint64 {
	var b [8]byte
	r.take(b[2:])
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
