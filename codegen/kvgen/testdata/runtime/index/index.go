// Package index has the shapes that generated code is written against.
package index

import "github.com/ringtree/ringtree/kvmodel"

type Unique[T, V any] struct {
	Spec kvmodel.IndexSpec[T, V]
}

func NewUnique[T any, K comparable, V any](r *kvmodel.Records[T, K], s kvmodel.IndexSpec[T, V]) *Unique[T, V] {
	return &Unique[T, V]{s}
}
