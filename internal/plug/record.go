package plug

import "slices"

// Record is a record of any model: a pointer to its struct, or nil. Untyped code is compiled once,
// not once per model.
type Record any

func As[T any](v Record) *T {
	if v == nil {
		return nil
	}
	return v.(*T)
}

// AllAs is As for each of all. The result is never nil, which would be null in JSON.
func AllAs[T any](all []Record) []*T {
	values := make([]*T, len(all))
	for i, v := range all {
		values[i] = As[T](v)
	}
	return values
}

// Keeps returns Kept as a func of any record, nil if keep is empty.
func Keeps[T any](keep []func(*T) bool) func(Record) bool {
	if len(keep) == 0 {
		return nil
	}
	return func(v Record) bool { return Kept(v.(*T), keep) }
}

func Kept[T any](v *T, keep []func(*T) bool) bool {
	return !slices.ContainsFunc(keep, func(keeps func(*T) bool) bool { return !keeps(v) })
}

func Untyped[T, R any](f func(*T) R) func(Record) R {
	if f == nil {
		return nil
	}
	return func(v Record) R { return f(v.(*T)) }
}
