package kvmodel

import (
	"github.com/ringtree/ringtree/internal/plug"
)

// bodies turns records into bytes and back: a Codec without its type.
type bodies interface {
	Append(dst []byte, v plug.Record) ([]byte, error)
	Unmarshal(data []byte, v plug.Record) (unknown bool, err error)
	Merge(prev, next []byte) ([]byte, error)

	// UnmarshalShared is Unmarshal, but v may keep parts of data.
	UnmarshalShared(data []byte, v plug.Record) (unknown bool, err error)

	// Copies reports whether CopyOf can be called. What that returns shares with v nothing
	// that can be changed.
	Copies() bool
	CopyOf(v plug.Record) plug.Record
}

// sharer is a Codec whose values may keep parts of what they were read from.
type sharer[T any] interface {
	UnmarshalShared(data []byte, v *T) (unknown bool, err error)
}

// copier is a Codec whose values can be kept in memory.
type copier[T any] interface {
	Copies() bool
	CopyOf(v *T) *T
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

func (b bodiesOf[T]) CopyOf(v plug.Record) plug.Record { return b.Codec.(copier[T]).CopyOf(v.(*T)) }
