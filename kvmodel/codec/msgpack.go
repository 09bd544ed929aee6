package codec

import (
	"errors"
	"fmt"
	"io"

	"github.com/vmihailenco/msgpack/v5"
)

// Encode writes v to e. It is the EncodeMsgpack of a generated type.
func (m *Model[T]) Encode(e *msgpack.Encoder, v *T) error {
	w := takeWriter()
	defer w.release()
	w.buf = w.scratch[:0]
	err := write(w, 0, v, m.Write)
	w.scratch = w.buf
	if err != nil {
		return err
	}
	_, err = e.Writer().Write(w.buf)
	return err
}

// Decode reads one value from d into v. It is the DecodeMsgpack of a generated type. If the input
// ends before the value, the error is io.EOF. Other errors of the underlying reader are returned
// unchanged; errors about the bytes wrap ErrCorrupt.
func (m *Model[T]) Decode(d *msgpack.Decoder, v *T) error {
	s := stream{from: d}
	s.value(0)
	if s.err != nil {
		return s.err
	}
	_, err := m.Unmarshal(s.data, v)
	return err
}

// stream collects the bytes of one value from a decoder. It allocates at most about twice the bytes
// received, whatever lengths they claim.
type stream struct {
	from *msgpack.Decoder
	data []byte
	err  error
}

const minStep = 512

func (s *stream) value(depth int) {
	at := len(s.data)
	head := s.take(1)
	if s.err != nil {
		return
	}
	shape := shapeOf(head[0])
	if shape.kind == kindNone || depth > maxNesting {
		s.err = &Error{Offset: at, Reason: fmt.Sprintf("%v, nested %d deep", shape.kind, depth)}
		return
	}
	n := int(shape.count)
	for _, b := range s.take(int(shape.width)) {
		n = n<<8 | int(b)
	}
	switch shape.kind {
	case kindArray:
		s.values(n, depth)
	case kindMap:
		s.values(2*n, depth)
	default:
		s.take(n + int(shape.payload))
	}
}

func (s *stream) values(n, depth int) {
	for i := 0; i < n && s.err == nil; i++ {
		s.value(depth + 1)
	}
}

// take collects n bytes and returns them. It reads them in steps that at most double the bytes
// received.
func (s *stream) take(n int) []byte {
	start := len(s.data)
	for left := n; left > 0 && s.err == nil; {
		step := min(left, max(minStep, len(s.data)))
		s.data = append(s.data, make([]byte, step)...)
		s.read(len(s.data) - step)
		left -= step
	}
	if s.err != nil {
		return nil
	}
	return s.data[start:]
}

func (s *stream) read(at int) {
	err := s.from.ReadFull(s.data[at:])
	switch {
	case err == nil || errors.Is(err, io.EOF) && at == 0:
		s.err = err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		s.err = &Error{Offset: at, Reason: "truncated", Cause: io.ErrUnexpectedEOF}
	default:
		s.err = err
	}
}
