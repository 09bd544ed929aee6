package keytree

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/ringtree/ringtree/kvmodel"
)

// Every value begins with two bytes and its kind, and ends with a checksum of
// all before.
const magic = "K1"

const sumBytes = 4

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal appends the checksum of b.
func seal(b []byte) []byte {
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// unseal returns the kind of a stored value and what stands after it. An
// ErrCorrupt: it is not whole, or not of this format.
func unseal(value []byte) (kind byte, body reader, err error) {
	n := len(value) - sumBytes
	switch {
	case n < len(magic)+1 || string(value[:len(magic)]) != magic:
		return 0, reader{}, fmt.Errorf("%w: not a page of a ranking: %.20q", kvmodel.ErrCorrupt, value)
	case crc32.Checksum(value[:n], castagnoli) != binary.BigEndian.Uint32(value[n:]):
		return 0, reader{}, fmt.Errorf("%w: wrong checksum of a page of a ranking", kvmodel.ErrCorrupt)
	}
	return value[len(magic)], reader{rest: value[len(magic)+1 : n]}, nil
}

// reader takes numbers and texts off the front of stored bytes. After the
// first thing that does not fit it has failed and returns zeros.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.failed, r.rest = true, nil
		return make([]byte, max(0, min(n, 16)))
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte { return r.take(1)[0] }

func (r *reader) uint64() uint64 { return binary.BigEndian.Uint64(r.take(8)) }

func (r *reader) uint48() uint64 {
	b := r.take(6)
	return uint64(b[0])<<40 | uint64(b[1])<<32 | uint64(binary.BigEndian.Uint32(b[2:]))
}

func (r *reader) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.failed, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// count returns a number of things that take at least size bytes each.
func (r *reader) count(size int) int {
	n := r.number()
	if n > uint64(len(r.rest)/size) {
		r.failed, r.rest = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) text() string { return string(r.take(r.count(1))) }

// end returns an ErrCorrupt unless all fitted and nothing is left.
func (r *reader) end(what string) error {
	if r.failed || len(r.rest) > 0 {
		return fmt.Errorf("%w: %s of a ranking", kvmodel.ErrCorrupt, what)
	}
	return nil
}

func appendUint48(dst []byte, n uint64) []byte {
	return append(dst, byte(n>>40), byte(n>>32), byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func appendFlag(dst []byte, flag bool) []byte {
	if flag {
		return append(dst, 1)
	}
	return append(dst, 0)
}
