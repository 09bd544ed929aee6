package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/vmihailenco/msgpack/v5"
)

// Reader reads one value from stored bytes. It keeps its first failure; after that there are no
// more bytes to read.
type Reader struct {
	account
	data     []byte
	at       int
	limit    int64
	elements int  // number of slices and maps around the value being read
	unknown  bool // an unknown field was skipped outside slices and maps
	window   window
	err      *Error
	decoder  *msgpack.Decoder
	raw      bytes.Reader
}

// ReadStruct reads the fields of *v by calling field, which reads the field called name or returns
// false if there is none.
func ReadStruct[T any](r *Reader, v *T, field func(r *Reader, v *T, name []byte) bool) {
	n := r.open(kindMap)
	if n < 0 {
		*v = *new(T)
		return
	}
	for range n {
		name := r.text("a field name")
		if r.err != nil {
			return
		}
		if !field(r, v, name) {
			r.skip(0)
			r.unknown = r.unknown || r.elements == 0
		}
		if r.err != nil {
			r.err.within(string(name))
			return
		}
	}
}

func ReadBool[T ~bool](r *Reader, v *T) {
	at, c := r.code()
	switch c {
	case codeTrue:
		*v = true
	case codeFalse, codeNil:
		*v = false
	default:
		r.unexpected(at, "a bool")
	}
}

// ReadInt reads *v from an integer of any width that fits T.
func ReadInt[T signed](r *Reader, v *T) {
	at := r.at
	n, big := r.integer()
	if big || int64(T(n)) != n {
		r.outOfRange(at, n, big, *v)
		return
	}
	*v = T(n)
}

// ReadUint reads *v from an integer of any width that fits T.
func ReadUint[T unsigned](r *Reader, v *T) {
	at := r.at
	n, big := r.integer()
	if n < 0 && !big || uint64(T(n)) != uint64(n) {
		r.outOfRange(at, n, big, *v)
		return
	}
	*v = T(n)
}

// ReadFloat reads *v from a float of any width or an integer, if T can hold
// exactly that number.
func ReadFloat[T float](r *Reader, v *T) {
	at := r.at
	n, exact := r.float()
	if !exact || float64(T(n)) != n && n == n {
		r.fail(at, fmt.Sprintf("%v does not fit %T exactly", n, *v))
		return
	}
	*v = T(n)
}

func ReadString[T ~string](r *Reader, v *T) { *v = T(r.string()) }

func ReadBytes[T ~[]byte](r *Reader, v *T) {
	n := r.open(kindBytes)
	if n < 0 {
		*v = nil
		return
	}
	*v = append(make(T, 0, n), r.take(n)...)
}

// ReadByteArray reads an array of bytes, given as a slice of it.
func ReadByteArray(r *Reader, v []byte) {
	at := r.at
	n := r.open(kindBytes)
	clear(v)
	if n > len(v) {
		r.tooLong(at, n, len(v))
		return
	}
	if n > 0 {
		copy(v, r.take(n))
	}
}

// ReadTime reads *v from a msgpack timestamp, in UTC.
func ReadTime(r *Reader, v *time.Time) {
	at := r.at
	n := r.openTime()
	b := r.take(max(0, n))
	if r.err != nil || n < 0 {
		*v = time.Time{}
		return
	}
	var seconds, nanos uint64
	switch n {
	case 4:
		seconds = uint64(binary.BigEndian.Uint32(b))
	case 8:
		seconds = binary.BigEndian.Uint64(b)
		seconds, nanos = seconds&(1<<34-1), seconds>>34
	case 12:
		nanos, seconds = uint64(binary.BigEndian.Uint32(b)), binary.BigEndian.Uint64(b[4:])
	default:
		r.fail(at, fmt.Sprintf("want a timestamp of 4, 8 or 12 bytes, found %d", n))
		return
	}
	if nanos >= 1e9 {
		r.fail(at, fmt.Sprintf("a timestamp with %d nanoseconds", nanos))
		return
	}
	*v = time.Unix(int64(seconds), int64(nanos)).UTC()
}

// ReadPointer reads the target of *v by read, into a new T; nil stays nil.
func ReadPointer[P ~*T, T any](r *Reader, v *P, read func(*Reader, *T)) {
	*v = nil
	if r.skipNil() || !r.enter(sliceSize[T](1)) {
		return
	}
	*v = new(T)
	read(r, *v)
	r.depth--
}

// ReadSlice reads a new *v by read, element by element; nil stays nil.
func ReadSlice[S ~[]T, T any](r *Reader, v *S, read func(*Reader, *T)) {
	*v = nil
	n := r.open(kindArray)
	if n < 0 || !r.enter(sliceSize[T](n)) {
		return
	}
	*v = make(S, n)
	readElements(r, *v, read)
	r.depth--
}

// ReadArray reads an array, given as a slice of it, by read.
func ReadArray[T any](r *Reader, v []T, read func(*Reader, *T)) {
	at := r.at
	n := r.open(kindArray)
	clear(v)
	if n > len(v) {
		r.tooLong(at, n, len(v))
		return
	}
	readElements(r, v[:max(0, n)], read)
}

func readElements[T any](r *Reader, v []T, read func(*Reader, *T)) {
	r.elements++
	for i := range v {
		read(r, &v[i])
		if r.err != nil {
			r.err.within("[" + strconv.Itoa(i) + "]")
			break
		}
	}
	r.elements--
}

// ReadMap reads a new *v by readKey and read; nil stays nil.
func ReadMap[M ~map[K]V, K key, V any](r *Reader, v *M, readKey func(*Reader, *K), read func(*Reader, *V)) {
	*v = nil
	n := r.open(kindMap)
	if n < 0 || !r.enter(mapSize[K, V](n)) {
		return
	}
	*v = make(M, n)
	r.elements++
	for range n {
		var key K
		var value V
		readKey(r, &key)
		if r.err == nil {
			read(r, &value)
		}
		if r.err != nil {
			r.err.within(fmt.Sprintf("[%v]", key))
			break
		}
		(*v)[key] = value
	}
	r.elements--
	r.depth--
}

func (r *Reader) code() (at int, c byte) {
	at = r.at
	if at >= len(r.data) {
		r.fail(at, "truncated: a value is missing")
		return at, codeNone
	}
	r.at++
	return at, r.data[at]
}

func (r *Reader) skipNil() bool {
	if r.at < len(r.data) && r.data[r.at] == codeNil {
		r.at++
		return true
	}
	return false
}

// open reads the head of a value of kind k and returns its count of bytes, values or pairs, which
// the remaining bytes can hold.
func (r *Reader) open(k kind) int {
	at, c := r.code()
	s := shapeOf(c)
	switch {
	case s.kind == k:
		return r.count(at, s)
	case c != codeNil:
		r.unexpected(at, k.String())
	}
	return -1
}

func (r *Reader) count(at int, s shape) int {
	n := int64(s.count)
	for _, b := range r.take(int(s.width)) {
		n = n<<8 | int64(b)
	}
	least, left := n+int64(s.payload), int64(len(r.data)-r.at)
	if s.kind == kindMap {
		least = 2 * n
	}
	if least > left {
		r.fail(at, fmt.Sprintf("truncated: %v of at least %d bytes in the %d that remain", s.kind, least, left))
	}
	if r.err != nil {
		return -1
	}
	return int(n)
}

func (r *Reader) take(n int) []byte {
	if n > len(r.data)-r.at {
		r.fail(r.at, fmt.Sprintf("truncated: %d bytes wanted, %d remain", n, len(r.data)-r.at))
		return nil
	}
	r.at += n
	return r.data[r.at-n : r.at]
}

func (r *Reader) text(want string) []byte {
	at, c := r.code()
	if c&0xe0 == codeFixStr {
		return r.take(int(c & 0x1f))
	}
	s := shapeOf(c)
	if s.kind != kindString {
		r.unexpected(at, want)
		return nil
	}
	return r.take(max(0, r.count(at, s)))
}

func (r *Reader) string() string {
	if r.skipNil() {
		return ""
	}
	b := r.text("a string")
	return r.window.cut(r.data, r.at-len(b), r.at)
}

// integer returns an integer of any width.
func (r *Reader) integer() (n int64, big bool) {
	at, c := r.code()
	if c < codeFixMap || c >= codeNegative {
		return int64(int8(c)), false
	}
	s := shapeOf(c)
	if s.kind != kindInteger {
		if c != codeNil {
			r.unexpected(at, "an integer")
		}
		return 0, false
	}
	var bits uint64
	for _, b := range r.take(int(s.payload)) {
		bits = bits<<8 | uint64(b)
	}
	if c < codeInt8 {
		return int64(bits), bits > math.MaxInt64
	}
	unused := 64 - 8*s.payload
	return int64(bits<<unused) >> unused, false // with the sign extended
}

// float returns a number. It is exact unless a float64 cannot hold it.
func (r *Reader) float() (n float64, exact bool) {
	at, c := r.code()
	switch c {
	case codeFloat32:
		if b := r.take(4); b != nil {
			n = float64(math.Float32frombits(binary.BigEndian.Uint32(b)))
		}
		return n, true
	case codeFloat64:
		if b := r.take(8); b != nil {
			n = math.Float64frombits(binary.BigEndian.Uint64(b))
		}
		return n, true
	case codeNil:
		return 0, true
	}
	if shapeOf(c).kind != kindInteger {
		r.unexpected(at, "a float")
		return 0, true
	}
	r.at = at
	i, big := r.integer()
	if big {
		n = float64(uint64(i))
		return n, n < 1<<64 && uint64(n) == uint64(i)
	}
	n = float64(i)
	return n, n < 1<<63 && int64(n) == i
}

// openTime reads the head of a timestamp and returns its length, or -1 for nil.
func (r *Reader) openTime() int {
	at, c := r.code()
	s := shapeOf(c)
	if c == codeNil {
		return -1
	}
	if s.kind != kindExtension {
		r.unexpected(at, "a timestamp")
		return -1
	}
	n := r.count(at, s)
	if s.width == 0 {
		n = int(s.payload) - 1
	}
	if b := r.take(1); b != nil && b[0] != extTime {
		r.fail(at, fmt.Sprintf("want a timestamp, found an extension of type %d", int8(b[0])))
	}
	return n
}

func (r *Reader) skip(depth int) {
	at, c := r.code()
	s := shapeOf(c)
	if s.kind == kindNone {
		r.unexpected(at, "a value")
		return
	}
	n := r.count(at, s)
	switch s.kind {
	case kindArray:
		r.skipAll(at, n, depth)
	case kindMap:
		r.skipAll(at, 2*n, depth)
	default:
		r.take(int(s.payload) + max(0, n))
	}
}

func (r *Reader) skipAll(at, n, depth int) {
	if depth == maxNesting {
		r.fail(at, fmt.Sprintf("nested deeper than %d", maxNesting))
		return
	}
	for i := 0; i < n && r.err == nil; i++ {
		r.skip(depth + 1)
	}
}

func (r *Reader) enter(size int64) bool {
	r.memory += size
	switch {
	case r.depth == MaxDepth:
		r.fail(r.at, fmt.Sprintf("nested deeper than %d", MaxDepth))
	case r.memory > r.limit:
		r.fail(r.at, fmt.Sprintf("slices, maps and pointers over the %d bytes that an input of %d may take", r.limit, len(r.data)))
	}
	if r.err != nil {
		return false
	}
	r.depth++
	return true
}

func (r *Reader) fail(at int, reason string) {
	if r.err == nil {
		r.err = &Error{Offset: at, Reason: reason}
	}
	r.at = len(r.data)
}

func (r *Reader) unexpected(at int, want string) {
	if r.err == nil {
		r.fail(at, fmt.Sprintf("want %s, found %v", want, shapeOf(r.data[at]).kind))
	}
}

func (r *Reader) outOfRange(at int, n int64, big bool, v any) {
	if big {
		r.fail(at, fmt.Sprintf("%d does not fit %T", uint64(n), v))
		return
	}
	r.fail(at, fmt.Sprintf("%d does not fit %T", n, v))
}

func (r *Reader) tooLong(at, n, room int) {
	r.fail(at, fmt.Sprintf("%d elements do not fit an array of %d", n, room))
}

// window is a part of the input from which neighboring strings are cut, so that they share an
// allocation.
type window struct {
	from int
	text string
}

const (
	windowSize = 4 << 10
	shortText  = windowSize / 4 // longer text gets its own allocation
)

func (w *window) cut(data []byte, from, to int) string {
	if from == to {
		return ""
	}
	if from < w.from || to > w.from+len(w.text) {
		if to-from > shortText {
			return string(data[from:to])
		}
		w.from = from
		w.text = string(data[from:min(from+windowSize, len(data))])
	}
	return w.text[from-w.from : to-w.from]
}
