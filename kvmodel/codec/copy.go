package codec

import (
	"maps"
	"slices"
)

// Functions that give a plain copy of a value its own of what it shares with the first. Each
// takes the function that does so for its elements; nil: they share nothing.

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

// CopySlice makes *v a slice of its own.
func CopySlice[S ~[]T, T any](v *S, own func(*T)) {
	*v = slices.Clone(*v)
	CopyArray(*v, own)
}

// CopyArray gives the elements of v their own of what they share.
func CopyArray[T any](v []T, own func(*T)) {
	if own == nil {
		return
	}
	for i := range v {
		own(&v[i])
	}
}

// CopyMap makes *v a map of its own.
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
