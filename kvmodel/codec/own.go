package codec

import (
	"bytes"
	"encoding"
	"errors"

	"github.com/vmihailenco/msgpack/v5"
)

// A type that marshals itself determines its stored form: its own msgpack is stored unchanged,
// binary as bytes, text as a string. Its bytes are checked to be one value before they are stored,
// and again before the type reads them.

var errNotOneValue = errors.New("its own encoder did not write exactly one msgpack value")

// WriteCustom writes *v by its EncodeMsgpack, or nil if that writes nothing.
func WriteCustom[T any, P interface {
	*T
	msgpack.CustomEncoder
}](w *Writer, v *T) {
	if w.encoder == nil {
		w.encoder = msgpack.NewEncoder(nil)
	}
	start := len(w.buf)
	w.encoder.Reset(w)
	w.own(start, P(v).EncodeMsgpack(w.encoder))
}

// WriteMarshaler writes *v by its MarshalMsgpack, or nil if that returns nothing.
func WriteMarshaler[T any, P interface {
	*T
	msgpack.Marshaler
}](w *Writer, v *T) {
	start := len(w.buf)
	b, err := P(v).MarshalMsgpack()
	w.buf = append(w.buf, b...)
	w.own(start, err)
}

// WriteBinary writes the result of *v's MarshalBinary as bytes.
func WriteBinary[T any, P interface {
	*T
	encoding.BinaryMarshaler
}](w *Writer, v *T) {
	b, err := P(v).MarshalBinary()
	if err != nil {
		w.fail(err)
	}
	w.bytes(b)
}

// WriteText writes the result of *v's MarshalText as a string.
func WriteText[T any, P interface {
	*T
	encoding.TextMarshaler
}](w *Writer, v *T) {
	b, err := P(v).MarshalText()
	if err != nil {
		w.fail(err)
	}
	w.string(string(b))
}

// WriteOrNil writes nil if isNil, otherwise *v by write.
func WriteOrNil[T any](w *Writer, v *T, isNil bool, write func(*Writer, *T)) {
	if isNil {
		w.nil()
		return
	}
	write(w, v)
}

// ReadCustom reads *v by its DecodeMsgpack.
func ReadCustom[T any, P interface {
	*T
	msgpack.CustomDecoder
}](r *Reader, v *T) {
	at, raw := r.own()
	if raw == nil {
		*v = *new(T)
		return
	}
	if r.decoder == nil {
		r.decoder = msgpack.NewDecoder(nil)
	}
	r.raw.Reset(raw)
	r.decoder.Reset(&r.raw)
	r.cause(at, P(v).DecodeMsgpack(r.decoder))
	if r.raw.Len() > 0 {
		r.fail(at, "its own decoder left bytes unread")
	}
}

// ReadMarshaler reads *v by its UnmarshalMsgpack.
func ReadMarshaler[T any, P interface {
	*T
	msgpack.Unmarshaler
}](r *Reader, v *T) {
	at, raw := r.own()
	if raw == nil {
		*v = *new(T)
		return
	}
	r.cause(at, P(v).UnmarshalMsgpack(bytes.Clone(raw)))
}

// ReadBinary reads *v from bytes by its UnmarshalBinary.
func ReadBinary[T any, P interface {
	*T
	encoding.BinaryUnmarshaler
}](r *Reader, v *T) {
	at := r.at
	n := r.open(kindBytes)
	if n < 0 {
		*v = *new(T)
		return
	}
	r.cause(at, P(v).UnmarshalBinary(r.take(n)))
}

// ReadText reads *v from a string or bytes by its UnmarshalText.
func ReadText[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](r *Reader, v *T) {
	at, raw := r.own()
	if raw == nil {
		*v = *new(T)
		return
	}
	switch s := shapeOf(raw[0]); s.kind {
	case kindString, kindBytes:
		r.cause(at, P(v).UnmarshalText(raw[1+s.width:]))
	default:
		r.unexpected(at, "a string")
	}
}

// own checks the output of a value's own encoder, from start on, and its error err.
func (w *Writer) own(start int, err error) {
	if err != nil {
		w.fail(err)
		return
	}
	if start == len(w.buf) {
		w.nil()
		return
	}
	check := Reader{data: w.buf, at: start}
	check.skip(0)
	if check.err != nil || check.at != len(w.buf) {
		w.fail(errNotOneValue)
	}
}

func (w *Writer) Write(b []byte) (int, error) {
	w.buf = append(w.buf, b...)
	return len(b), nil
}

func (w *Writer) WriteByte(c byte) error {
	w.buf = append(w.buf, c)
	return nil
}

// own skips a value and returns its bytes. It returns none for nil, and none after
// a failure.
func (r *Reader) own() (at int, raw []byte) {
	at = r.at
	if r.skipNil() {
		return at, nil
	}
	r.skip(0)
	if r.err != nil {
		return at, nil
	}
	return at, r.data[at:r.at]
}

func (r *Reader) cause(at int, err error) {
	if err != nil {
		r.fail(at, err.Error())
		r.err.Cause = err
	}
}
