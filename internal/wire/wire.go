// Package wire encodes and decodes the numbers and texts of stored items.
package wire

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/ringtree/ringtree/kvmodel/codec"
)

// AppendText appends s, preceded by its length, to dst.
func AppendText[S ~string | ~[]byte](dst []byte, s S) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// AppendTexts appends all texts, each preceded by its length, to dst.
func AppendTexts(dst []byte, texts []string) []byte {
	for _, text := range texts {
		dst = AppendText(dst, text)
	}
	return dst
}

// ReadTexts decodes the output of AppendTexts.
func ReadTexts(data []byte, what string) ([]string, error) {
	var texts []string
	r := Reader{Rest: data}
	for len(r.Rest) > 0 {
		texts = append(texts, r.Text(what))
	}
	return texts, r.Err
}

const maxCount = 1<<48 - 1 // of items that follow

// Reader reads numbers and texts from the front of stored bytes. After the first error Err is set
// and it returns zeros.
type Reader struct {
	Rest []byte
	Err  error
}

// Fail sets Err unless it is already set.
func (r *Reader) Fail(what string) {
	if r.Err == nil {
		r.Err = fmt.Errorf("%w: bad %s with %d bytes left", codec.ErrCorrupt, what, len(r.Rest))
	}
	r.Rest = nil
}

func (r *Reader) Byte() byte {
	if len(r.Rest) == 0 {
		r.Fail("end")
		return 0
	}
	b := r.Rest[0]
	r.Rest = r.Rest[1:]
	return b
}

func (r *Reader) Uint64() uint64 {
	if len(r.Rest) < 8 {
		r.Fail("end")
		return 0
	}
	n := binary.BigEndian.Uint64(r.Rest)
	r.Rest = r.Rest[8:]
	return n
}

// Number returns a varint of at most limit.
func (r *Reader) Number(what string, limit uint64) uint64 {
	n, size := binary.Uvarint(r.Rest)
	if size <= 0 || n > limit {
		r.Fail(what)
		return 0
	}
	r.Rest = r.Rest[size:]
	return n
}

// Count returns the number of items that follow, each of at least size bytes.
func (r *Reader) Count(what string, size int) int {
	n := r.Number(what, maxCount)
	if n > uint64(len(r.Rest)/size) {
		r.Fail(what)
		return 0
	}
	return int(n)
}

// Few is Count for at most limit items.
func (r *Reader) Few(what string, size, limit int) int {
	n := r.Count(what, size)
	if n > limit {
		r.Fail(what)
		return 0
	}
	return n
}

// Bytes returns a text as a slice of the input, without spare capacity.
func (r *Reader) Bytes(what string) []byte {
	n := r.Count(what, 1)
	if r.Err != nil {
		return nil
	}
	b := r.Rest[:n:n]
	r.Rest = r.Rest[n:]
	return b
}

func (r *Reader) Text(what string) string { return string(r.Bytes(what)) }

// Name returns a text that is not empty.
func (r *Reader) Name(what string) string {
	s := r.Text(what)
	if s == "" {
		r.Fail(what)
	}
	return s
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum returns the CRC-32C of the concatenated parts. Any flipped bit changes it.
func Sum(parts ...[]byte) uint32 {
	var sum uint32
	for _, part := range parts {
		sum = crc32.Update(sum, castagnoli, part)
	}
	return sum
}
