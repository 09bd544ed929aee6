package kvmodel

import "github.com/ringtree/ringtree/internal/plug"

// sharer is a Codec whose values may refer to the bytes they were decoded from.
type sharer[T any] interface {
	UnmarshalShared(data []byte, v *T) (unknown bool, err error)
}

// copier is a Codec whose values can be kept in memory.
type copier[T any] interface {
	Copies() bool
	CopyTo(to, v *T)
}

// copies is room for copies. They are few, since who keeps one keeps all of them.
type copies[T any] struct {
	of   [copiedAtOnce]T
	used int
}

const copiedAtOnce = 4

// next returns the next of them; of nil, a new one.
func (c *copies[T]) next() *T {
	if c == nil {
		return new(T)
	}
	c.used++
	return &c.of[c.used-1]
}

type bodiesOf[T any] struct{ Codec[T] }

func (b bodiesOf[T]) Append(dst []byte, v plug.Record) ([]byte, error) {
	return b.Codec.Append(dst, v.(*T))
}

func (b bodiesOf[T]) Unmarshal(data []byte, v plug.Record) (unknown bool, err error) {
	return b.Codec.Unmarshal(data, v.(*T))
}

func (b bodiesOf[T]) UnmarshalShared(data []byte, v plug.Record) (unknown bool, err error) {
	if codec, ok := b.Codec.(sharer[T]); ok {
		return codec.UnmarshalShared(data, v.(*T))
	}
	return b.Codec.Unmarshal(data, v.(*T))
}

func (b bodiesOf[T]) Copies() bool {
	codec, ok := b.Codec.(copier[T])
	return ok && codec.Copies()
}

func (b bodiesOf[T]) CopyOf(v plug.Record, room any, wanted int) (plug.Record, any) {
	some, _ := room.(*copies[T])
	if some == nil && wanted >= copiedAtOnce {
		some = new(copies[T])
	}
	to := some.next()
	b.Codec.(copier[T]).CopyTo(to, v.(*T))
	if some == nil || some.used == copiedAtOnce {
		return to, nil
	}
	return to, some
}
