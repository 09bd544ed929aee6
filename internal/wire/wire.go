// Package wire writes and reads the numbers and texts of stored bytes.
package wire

import (
	"encoding/binary"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel/codec"
)

// AppendText appends s, with its length before it, to dst.
func AppendText[S ~string | ~[]byte](dst []byte, s S) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

// AppendTexts appends all texts, each with its length before it, to dst.
func AppendTexts(dst []byte, texts []string) []byte {
	for _, text := range texts {
		dst = AppendText(dst, text)
	}
	return dst
}

// ReadTexts returns the texts that AppendTexts has put into data. what names one
// of them in an error.
func ReadTexts(data []byte, what string) ([]string, error) {
	var texts []string
	r := Reader{Rest: data}
	for len(r.Rest) > 0 {
		texts = append(texts, r.Text(what))
	}
	return texts, r.Err
}

const maxCount = 1<<48 - 1 // of things that follow

// Reader takes numbers and texts off the front of stored bytes. After the first
// thing that does not fit, Err is set and it returns zeros.
type Reader struct {
	Rest []byte
	Err  error
}

// Fail sets Err, unless it is set: what names the thing that does not fit.
func (r *Reader) Fail(what string) {
	if r.Err == nil {
		r.Err = fmt.Errorf("%w: bad %s with %d bytes left", codec.ErrCorrupt, what, len(r.Rest))
	}
	r.Rest = nil
}

// Byte returns the next byte.
func (r *Reader) Byte() byte {
	if len(r.Rest) == 0 {
		r.Fail("end")
		return 0
	}
	b := r.Rest[0]
	r.Rest = r.Rest[1:]
	return b
}

// Uint64 returns a number of eight bytes.
func (r *Reader) Uint64() uint64 {
	if len(r.Rest) < 8 {
		r.Fail("end")
		return 0
	}
	n := binary.BigEndian.Uint64(r.Rest)
	r.Rest = r.Rest[8:]
	return n
}

// Number returns a varint that is at most limit.
func (r *Reader) Number(what string, limit uint64) uint64 {
	n, size := binary.Uvarint(r.Rest)
	if size <= 0 || n > limit {
		r.Fail(what)
		return 0
	}
	r.Rest = r.Rest[size:]
	return n
}

// Count returns a number of things that follow and take at least size bytes
// each.
func (r *Reader) Count(what string, size int) int {
	n := r.Number(what, maxCount)
	if n > uint64(len(r.Rest)/size) {
		r.Fail(what)
		return 0
	}
	return int(n)
}

// Few is Count for things of which there are at most limit.
func (r *Reader) Few(what string, size, limit int) int {
	n := r.Count(what, size)
	if n > limit {
		r.Fail(what)
		return 0
	}
	return n
}

// Bytes returns a text as the part of the input that it is, and no room behind it.
func (r *Reader) Bytes(what string) []byte {
	n := r.Count(what, 1)
	if r.Err != nil {
		return nil
	}
	b := r.Rest[:n:n]
	r.Rest = r.Rest[n:]
	return b
}

// Text returns a text with its length before it.
func (r *Reader) Text(what string) string { return string(r.Bytes(what)) }

// Name returns a text that is not empty.
func (r *Reader) Name(what string) string {
	s := r.Text(what)
	if s == "" {
		r.Fail(what)
	}
	return s
}
