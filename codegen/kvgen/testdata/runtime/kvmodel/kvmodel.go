// Package kvmodel has the shapes that generated code is written against, and
// just enough behind them to see what was generated.
package kvmodel

import (
	"context"
	"time"
)

type DB struct{}

type Model interface{ ModelName() string }

type Codec[T any] struct{}

type Schema[T any, K comparable] struct {
	Name     string
	Version  int
	ID       func(*T) K
	SetID    func(*T, K)
	Key      KeyOf[K]
	Codec    Codec[T]
	Revision func(*T) *int64
	Created  func(*T) *time.Time
	Updated  func(*T) *time.Time
	Expires  func(*T) *time.Time
}

type IndexSpec[T, V any] struct {
	Name   string
	Def    string
	Fields []string
	Key    KeyOf[V]
	Values func(*T) []V
	If     func(*T) bool
}

type Records[T any, K comparable] struct{ Schema Schema[T, K] }

func NewRecords[T any, K comparable](db *DB, s Schema[T, K]) *Records[T, K] {
	return &Records[T, K]{s}
}

func (r *Records[T, K]) ModelName() string                         { return r.Schema.Name }
func (r *Records[T, K]) Get(ctx context.Context, id K) (*T, error) { return nil, nil }

type KeyOf[K any] struct{ Parts func(K) []any }

func one[K any]() KeyOf[K] { return KeyOf[K]{func(k K) []any { return []any{k} }} }

func StringKey[K ~string]() KeyOf[K] { return one[K]() }
func BoolKey[K ~bool]() KeyOf[K]     { return one[K]() }

func IntKey[K ~int | ~int8 | ~int16 | ~int32 | ~int64]() KeyOf[K]       { return one[K]() }
func UintKey[K ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64]() KeyOf[K] { return one[K]() }

func Key2[K, A, B any](a KeyOf[A], b KeyOf[B], split func(K) (A, B), join func(A, B) K) KeyOf[K] {
	return KeyOf[K]{func(k K) []any {
		x, y := split(join(split(k)))
		return []any{x, y}
	}}
}

func Key3[K, A, B, C any](a KeyOf[A], b KeyOf[B], c KeyOf[C], split func(K) (A, B, C), join func(A, B, C) K) KeyOf[K] {
	return KeyOf[K]{func(k K) []any {
		x, y, z := split(join(split(k)))
		return []any{x, y, z}
	}}
}

func Key4[K, A, B, C, D any](a KeyOf[A], b KeyOf[B], c KeyOf[C], d KeyOf[D], split func(K) (A, B, C, D), join func(A, B, C, D) K) KeyOf[K] {
	return KeyOf[K]{func(k K) []any {
		w, x, y, z := split(join(split(k)))
		return []any{w, x, y, z}
	}}
}
