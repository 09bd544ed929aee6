// Package wire encodes and decodes the numbers and texts of stored items.
package wire

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

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

// CorruptError names stored items that this module did not write. It is an ErrCorrupt.
type CorruptError struct {
	Keys []string // of the items in the DB's store
	Err  error    // the fault
}

func (e *CorruptError) Error() string {
	return codec.ErrCorrupt.Error() + " in " + strings.Join(e.Keys, ", ") + ": " + strings.TrimPrefix(e.Err.Error(), codec.ErrCorrupt.Error()+": ")
}

func (e *CorruptError) Unwrap() error { return e.Err }

func (e *CorruptError) Is(target error) bool { return target == codec.ErrCorrupt }

// Corrupt returns err, the fault of the item under key, as a CorruptError; nil if err is nil.
func Corrupt(key string, err error) error {
	if err == nil {
		return nil
	}
	return &CorruptError{Keys: []string{key}, Err: err}
}

func IsCorrupt(err error) bool { return errors.Is(err, codec.ErrCorrupt) }

// JoinCorrupt joins two errors about damaged items, each nil or from Corrupt.
func JoinCorrupt(a, b error) error {
	x, _ := errors.AsType[*CorruptError](a)
	y, _ := errors.AsType[*CorruptError](b)
	if x == nil || y == nil {
		return cmp.Or(a, b)
	}
	return &CorruptError{Keys: slices.Concat(x.Keys, y.Keys), Err: x.Err}
}

// TextSet is a set of texts in the order of their addition. The zero TextSet is empty.
type TextSet struct {
	all []string
	has map[string]struct{} // nil: scan all
}

// fewTexts is the number of texts up to which a scan is as fast as a map.
const fewTexts = 16

// SetOf returns a set that shares texts until the first Add.
func SetOf(texts []string) TextSet {
	s := TextSet{all: slices.Clip(texts)}
	if len(texts) > fewTexts {
		s.index()
	}
	return s
}

// Sized returns an empty set with room for n texts.
func Sized(n int) TextSet { return TextSet{all: make([]string, 0, n)} }

func (s *TextSet) index() {
	s.has = make(map[string]struct{}, 2*len(s.all))
	for _, text := range s.all {
		s.has[text] = struct{}{}
	}
}

// All returns the texts, nil if there are none. The caller may change them if it uses the set no
// more.
func (s *TextSet) All() []string {
	if len(s.all) == 0 {
		return nil
	}
	return s.all
}

func (s *TextSet) Has(text string) bool {
	if s.has == nil {
		return slices.Contains(s.all, text)
	}
	_, has := s.has[text]
	return has
}

// Add adds text, and reports whether it was new.
func (s *TextSet) Add(text string) bool {
	if s.Has(text) {
		return false
	}
	if s.all = append(s.all, text); s.has != nil {
		s.has[text] = struct{}{}
	} else if len(s.all) > fewTexts {
		s.index()
	}
	return true
}
