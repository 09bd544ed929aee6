package codec

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/vmihailenco/msgpack/v5"
)

// Writer collects the bytes of one value. It keeps its first failure; later output is discarded.
type Writer struct {
	account
	buf     []byte
	scratch []byte
	field   string
	err     error
	encoder *msgpack.Encoder
}

type (
	signed interface {
		~int | ~int8 | ~int16 | ~int32 | ~int64
	}
	unsigned interface {
		~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
	}
	float interface {
		~float32 | ~float64
	}
	key interface {
		~string | signed | unsigned
	}
)

// Struct begins a struct of n fields. Each is a call of Name followed by a value.
func (w *Writer) Struct(n int) { w.mapLen(n) }

// Name writes the name of the field that follows and returns w.
func (w *Writer) Name(name string) *Writer {
	w.field = name
	w.string(name)
	return w
}

func WriteBool[T ~bool](w *Writer, v *T) {
	if *v {
		w.buf = append(w.buf, codeTrue)
		return
	}
	w.buf = append(w.buf, codeFalse)
}

func WriteInt[T signed](w *Writer, v *T) { w.int(int64(*v)) }

// WriteUint writes *v in the shortest form.
func WriteUint[T unsigned](w *Writer, v *T) { w.uint(uint64(*v)) }

func WriteFloat[T float](w *Writer, v *T) {
	if unsafe.Sizeof(*v) == 4 {
		w.buf = binary.BigEndian.AppendUint32(append(w.buf, codeFloat32), math.Float32bits(float32(*v)))
		return
	}
	w.buf = binary.BigEndian.AppendUint64(append(w.buf, codeFloat64), math.Float64bits(float64(*v)))
}

func WriteString[T ~string](w *Writer, v *T) { w.string(string(*v)) }

// WriteBytes writes *v; nil stays nil.
func WriteBytes[T ~[]byte](w *Writer, v *T) {
	if *v == nil {
		w.nil()
		return
	}
	w.bytes(*v)
}

func WriteByteArray(w *Writer, v []byte) { w.bytes(v) }

// WriteTime writes *v as the msgpack timestamp extension: the instant to the
// nanosecond, without the location.
func WriteTime(w *Writer, v *time.Time) {
	seconds, nanos := uint64(v.Unix()), uint64(v.Nanosecond())
	switch {
	case seconds>>32 == 0 && nanos == 0:
		w.buf = append(w.buf, codeFixExt4, extTime)
		w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(seconds))
	case seconds>>34 == 0:
		w.buf = append(w.buf, codeFixExt8, extTime)
		w.buf = binary.BigEndian.AppendUint64(w.buf, nanos<<34|seconds)
	default:
		w.buf = append(w.buf, codeExt8, 12, extTime)
		w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(nanos))
		w.buf = binary.BigEndian.AppendUint64(w.buf, seconds)
	}
}

// WritePointer writes the target of *v by write; nil stays nil.
func WritePointer[P ~*T, T any](w *Writer, v *P, write func(*Writer, *T)) {
	if *v == nil {
		w.nil()
		return
	}
	if !w.enter(sliceSize[T](1)) {
		return
	}
	write(w, *v)
	w.depth--
}

// WriteSlice writes the elements of *v by write; nil stays nil.
func WriteSlice[S ~[]T, T any](w *Writer, v *S, write func(*Writer, *T)) {
	if *v == nil {
		w.nil()
		return
	}
	if !w.enter(sliceSize[T](len(*v))) {
		return
	}
	w.elements(len(*v))
	for i := range *v {
		write(w, &(*v)[i])
	}
	w.depth--
}

func WriteArray[T any](w *Writer, v []T, write func(*Writer, *T)) {
	w.elements(len(v))
	for i := range v {
		write(w, &v[i])
	}
}

// WriteMap writes the entries of *v sorted by key; nil stays nil.
func WriteMap[M ~map[K]V, K key, V any](w *Writer, v *M, writeKey func(*Writer, *K), write func(*Writer, *V)) {
	if *v == nil {
		w.nil()
		return
	}
	if !w.enter(mapSize[K, V](len(*v))) {
		return
	}
	w.mapLen(len(*v))
	keys := slices.AppendSeq(make([]K, 0, len(*v)), maps.Keys(*v))
	slices.Sort(keys)
	for i := range keys {
		value := (*v)[keys[i]]
		writeKey(w, &keys[i])
		write(w, &value)
	}
	w.depth--
}

func (w *Writer) nil() { w.buf = append(w.buf, codeNil) }

func (w *Writer) int(n int64) {
	switch {
	case n >= 0:
		w.uint(uint64(n))
	case n >= -32:
		w.buf = append(w.buf, byte(n))
	case n >= math.MinInt8:
		w.buf = append(w.buf, codeInt8, byte(n))
	case n >= math.MinInt16:
		w.buf = binary.BigEndian.AppendUint16(append(w.buf, codeInt16), uint16(n))
	case n >= math.MinInt32:
		w.buf = binary.BigEndian.AppendUint32(append(w.buf, codeInt32), uint32(n))
	default:
		w.buf = binary.BigEndian.AppendUint64(append(w.buf, codeInt64), uint64(n))
	}
}

func (w *Writer) uint(n uint64) {
	switch {
	case n <= math.MaxInt8:
		w.buf = append(w.buf, byte(n))
	case n <= math.MaxUint8:
		w.buf = append(w.buf, codeUint8, byte(n))
	case n <= math.MaxUint16:
		w.buf = binary.BigEndian.AppendUint16(append(w.buf, codeUint16), uint16(n))
	case n <= math.MaxUint32:
		w.buf = binary.BigEndian.AppendUint32(append(w.buf, codeUint32), uint32(n))
	default:
		w.buf = binary.BigEndian.AppendUint64(append(w.buf, codeUint64), n)
	}
}

func (w *Writer) string(s string) {
	if len(s) < 32 {
		w.buf = append(append(w.buf, codeFixStr|byte(len(s))), s...)
		return
	}
	w.length(len(s), codeStr8, codeStr16, codeStr32)
	w.buf = append(w.buf, s...)
}

func (w *Writer) bytes(b []byte) {
	w.length(len(b), codeBin8, codeBin16, codeBin32)
	w.buf = append(w.buf, b...)
}

func (w *Writer) elements(n int) {
	if n < 16 {
		w.buf = append(w.buf, codeFixArray|byte(n))
		return
	}
	w.length(n, codeNone, codeArray16, codeArray32)
}

func (w *Writer) mapLen(n int) {
	if n < 16 {
		w.buf = append(w.buf, codeFixMap|byte(n))
		return
	}
	w.length(n, codeNone, codeMap16, codeMap32)
}

// length writes the code of the shortest form that holds n, and n. Arrays and maps
// have no form of one byte.
func (w *Writer) length(n int, code8, code16, code32 byte) {
	switch {
	case n <= math.MaxUint8 && code8 != codeNone:
		w.buf = append(w.buf, code8, byte(n))
	case n <= math.MaxUint16:
		w.buf = binary.BigEndian.AppendUint16(append(w.buf, code16), uint16(n))
	case uint64(n) <= math.MaxUint32:
		w.buf = binary.BigEndian.AppendUint32(append(w.buf, code32), uint32(n))
	default:
		w.fail(fmt.Errorf("length %d exceeds the 4 GiB that msgpack allows", n))
	}
}

func (w *Writer) enter(size int64) bool {
	w.memory += size
	if w.depth == MaxDepth {
		w.fail(fmt.Errorf("nested deeper than %d, or contains itself", MaxDepth))
	}
	if w.err != nil {
		return false
	}
	w.depth++
	return true
}

func (w *Writer) fail(err error) {
	if w.err == nil {
		w.err = fmt.Errorf("%w: at field %s: %w", ErrNotStorable, w.field, err)
	}
}
