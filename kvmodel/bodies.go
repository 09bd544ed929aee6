package kvmodel

import (
	"unsafe"

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

	// Size is about how many bytes v takes besides data, which it was read from, if it
	// keeps parts of it.
	Size(data []byte) int
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

// Size takes it that what v points to is larger than what it was read from.
func (b bodiesOf[T]) Size(data []byte) int { return int(unsafe.Sizeof(*new(T))) + 2*len(data) }
