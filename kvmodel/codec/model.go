package codec

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/vmihailenco/msgpack/v5"
)

// Model is the codec of a struct type, consisting of functions that kvgen wrote for the type. It is
// safe for concurrent use.
type Model[T any] struct {
	Write  func(*Writer, *T) // writes all of a value
	Read   func(*Reader, *T) // reads the output of Write into a value
	Fields Fields            // the names Read knows
	Copy   func(*T)          // makes a shallow copy independent; nil: not available
}

// Fields reports whether a struct has a field stored as name. If the field is
// itself a struct, or a pointer to one, it also returns the field's own fields.
type Fields func(name []byte) (nested Fields, known bool)

// Append appends the stored form of v to dst. On an error, which wraps
// ErrNotStorable, it returns dst as it was.
func (m *Model[T]) Append(dst []byte, v *T) ([]byte, error) {
	w := takeWriter()
	defer w.release()
	w.buf = dst
	if err := write(w, len(dst), v, m.Write); err != nil {
		return dst, err
	}
	return w.buf, nil
}

// Marshal returns the stored form of v in a slice of exactly that capacity. Its
// error wraps ErrNotStorable.
func (m *Model[T]) Marshal(v *T) ([]byte, error) {
	w := takeWriter()
	defer w.release()
	w.buf = w.scratch[:0]
	err := write(w, 0, v, m.Write)
	w.scratch = w.buf
	if err != nil {
		return nil, err
	}
	return append(make([]byte, 0, len(w.buf)), w.buf...), nil
}

// Unmarshal reads data, one stored value and nothing after it, into v. Fields missing from data are
// left unchanged. unknown reports fields that T, or a struct that T reaches by fields and pointers
// alone, does not have: rewriting the record without Merge would lose them. Elements of slices,
// arrays and maps do not count, since Merge could not find them again.
//
// The error is an *Error; v is then partly filled.
func (m *Model[T]) Unmarshal(data []byte, v *T) (unknown bool, err error) {
	return m.unmarshal(data, v, window{})
}

// UnmarshalShared is Unmarshal, except that the texts of v share memory with data, which must not
// change from then on.
func (m *Model[T]) UnmarshalShared(data []byte, v *T) (unknown bool, err error) {
	return m.unmarshal(data, v, window{text: unsafe.String(unsafe.SliceData(data), len(data))})
}

// Copies reports whether CopyTo can be called.
func (m *Model[T]) Copies() bool { return m.Copy != nil }

// CopyTo makes to a copy of v that shares with it nothing that can be changed.
func (m *Model[T]) CopyTo(to, v *T) {
	*to = *v
	m.Copy(to)
}

func (m *Model[T]) unmarshal(data []byte, v *T, w window) (unknown bool, err error) {
	r := readers.Get().(*Reader)
	defer r.release()
	r.data, r.limit, r.window = data, memoryLimit(len(data)), w
	m.Read(r, v)
	if r.err == nil && r.at < len(data) {
		r.fail(r.at, fmt.Sprintf("%d bytes after the value", len(data)-r.at))
	}
	if r.err != nil {
		return false, r.err
	}
	return r.unknown, nil
}

func write[T any](w *Writer, start int, v *T, put func(*Writer, *T)) error {
	if v == nil {
		w.nil()
		return nil
	}
	put(w, v)
	if limit := memoryLimit(len(w.buf) - start); w.err == nil && w.memory > limit {
		return fmt.Errorf("%w: its slices, maps and pointers take %d bytes, over the %d that %d stored bytes may take",
			ErrNotStorable, w.memory, limit, len(w.buf)-start)
	}
	return w.err
}

var (
	writers = sync.Pool{New: func() any { return new(Writer) }}
	readers = sync.Pool{New: func() any { return new(Reader) }}
)

// maxScratch is the largest buffer that a pooled Writer keeps.
const maxScratch = 64 << 10

func takeWriter() *Writer { return writers.Get().(*Writer) }

func (w *Writer) release() {
	scratch := w.scratch
	if cap(scratch) > maxScratch {
		scratch = nil
	}
	*w = Writer{scratch: scratch, encoder: w.encoder}
	writers.Put(w)
}

func (r *Reader) release() {
	r.raw.Reset(nil)
	*r = Reader{decoder: r.decoder}
	readers.Put(r)
}

// Marshal returns v, of any type, as a msgpack map by field name. It is for types without a
// generated codec.
func Marshal(v any) ([]byte, error) { return msgpack.Marshal(v) }

// Unmarshal reads the output of Marshal into v. Missing fields are left unchanged, and unknown ones
// are skipped. The error is an ErrCorrupt.
func Unmarshal(data []byte, v any) error {
	if err := msgpack.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	return nil
}
