// Package kvmodel has the shapes that generated code is written against, and
// just enough behind them to see what was generated.
package kvmodel

import (
	"context"
	"time"
)

type DB struct{}

type Model interface{ Name() string }

type Codec[T any] struct{}

type Schema[T any, K comparable] struct {
	Name     string
	Version  int
	Shape    string
	ID       func(*T) K
	SetID    func(*T, K)
	Key      Key[K]
	Codec    Codec[T]
	RevField func(*T) *int64
	Created  func(*T) *time.Time
	Updated  func(*T) *time.Time
	Expires  func(*T) *time.Time
}

type IndexSpec[T any, V comparable] struct {
	Name   string
	Fields []string
	Key    Key[V]
	Values func(*T) []V
	If     func(*T) bool
}

type Records[T any, K comparable] struct{ Schema Schema[T, K] }

func NewRecords[T any, K comparable](db *DB, s Schema[T, K]) *Records[T, K] {
	return &Records[T, K]{s}
}

func (r *Records[T, K]) Name() string                              { return r.Schema.Name }
func (r *Records[T, K]) Get(ctx context.Context, id K) (*T, error) { return nil, nil }

type Key[K any] struct{ Parts func(K) []any }

func one[K any]() Key[K] { return Key[K]{func(k K) []any { return []any{k} }} }

func StringKey[K ~string]() Key[K] { return one[K]() }
func BoolKey[K ~bool]() Key[K]     { return one[K]() }

func IntKey[K ~int | ~int8 | ~int16 | ~int32 | ~int64]() Key[K]       { return one[K]() }
func UintKey[K ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64]() Key[K] { return one[K]() }

func Key2[K comparable, A, B any](a Key[A], b Key[B], split func(K) (A, B), join func(A, B) K) Key[K] {
	return Key[K]{func(k K) []any {
		x, y := split(join(split(k)))
		return []any{x, y}
	}}
}

func Key3[K comparable, A, B, C any](a Key[A], b Key[B], c Key[C], split func(K) (A, B, C), join func(A, B, C) K) Key[K] {
	return Key[K]{func(k K) []any {
		x, y, z := split(join(split(k)))
		return []any{x, y, z}
	}}
}

func Key4[K comparable, A, B, C, D any](a Key[A], b Key[B], c Key[C], d Key[D], split func(K) (A, B, C, D), join func(A, B, C, D) K) Key[K] {
	return Key[K]{func(k K) []any {
		w, x, y, z := split(join(split(k)))
		return []any{w, x, y, z}
	}}
}
