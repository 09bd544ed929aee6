package codec

import (
	"maps"
	"reflect"
	"slices"
	"time"
)

// Size returns the approximate size in bytes of the value that v points to. If shared, its texts
// belong to other memory and do not count.
func Size(v any, shared bool) int {
	at := reflect.ValueOf(v).Elem()
	return int(at.Type().Size()) + behind(at, shared)
}

// behind returns the size of the data that v refers to.
func behind(v reflect.Value, shared bool) (size int) {
	switch v.Kind() {
	case reflect.String:
		if !shared {
			size = v.Len()
		}
	case reflect.Pointer:
		if !v.IsNil() {
			size = int(v.Type().Elem().Size()) + behind(v.Elem(), shared)
		}
	case reflect.Slice:
		size = v.Cap()*int(v.Type().Elem().Size()) + behindEach(v, shared)
	case reflect.Array:
		size = behindEach(v, shared)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return 0
		}
		for i := range v.NumField() {
			size += behind(v.Field(i), shared)
		}
	case reflect.Map:
		size = mapBytes + v.Len()*2*int(v.Type().Key().Size()+v.Type().Elem().Size())
		for each := v.MapRange(); each.Next(); {
			size += behind(each.Key(), shared) + behind(each.Value(), shared)
		}
	}
	return size
}

const mapBytes = 64

func behindEach(v reflect.Value, shared bool) (size int) {
	switch v.Type().Elem().Kind() {
	case reflect.String, reflect.Pointer, reflect.Slice, reflect.Array, reflect.Struct, reflect.Map:
		for i := range v.Len() {
			size += behind(v.Index(i), shared)
		}
	}
	return size
}

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
