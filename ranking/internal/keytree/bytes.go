package keytree

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
)

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
