package codec

import (
	"maps"
	"slices"
)

// These functions make a shallow copy of a value independent of the original. Each takes a function
// that does so for its elements; nil means that elements share nothing.

// CopyPointer makes *v point at a copy.
func CopyPointer[P ~*T, T any](v *P, own func(*T)) {
	if *v == nil {
		return
	}
	next := *(*T)(*v)
	if own != nil {
		own(&next)
	}
	*v = &next
}

// CopySlice makes *v an independent slice.
func CopySlice[S ~[]T, T any](v *S, own func(*T)) {
	*v = slices.Clone(*v)
	CopyArray(*v, own)
}

// CopyArray makes the elements of v independent.
func CopyArray[T any](v []T, own func(*T)) {
	if own == nil {
		return
	}
	for i := range v {
		own(&v[i])
	}
}

// CopyMap makes *v an independent map.
func CopyMap[M ~map[K]T, K comparable, T any](v *M, own func(*T)) {
	*v = maps.Clone(*v)
	if own == nil {
		return
	}
	for key, value := range *v {
		own(&value)
		(*v)[key] = value
	}
}
