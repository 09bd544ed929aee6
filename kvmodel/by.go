package kvmodel

import "slices"

// By says on which rings or boards a record stands, where an index has one for each
// value: on that of one value of the record, or on those of several. It stands on none
// for an empty value.
type By[T, V any] struct {
	Key    KeyOf[V]
	Value  func(*T) V   // nil: Values has them
	Values func(*T) []V // each counts once
	Field  string       // that has Values, for messages
	Max    int          // how many values a record may have; 0: MaxValues
}

// Texts returns the texts of rec's values.
func (b By[T, V]) Texts(rec *T) []string {
	if b.Values == nil {
		v := b.Value(rec)
		if b.Key.Empty(v) {
			return nil
		}
		return []string{b.Key.Text(v)}
	}
	return textsOf(b.Key, b.Values(rec))
}

// Limit returns a *TooManyValuesError if rec has more values than it may have.
func (b By[T, V]) Limit(rec *T) error {
	if b.Values == nil {
		return nil
	}
	return limited(len(b.Values(rec)), b.Max, func() []string { return []string{b.Field} })
}

// Has reports whether text is that of a value of rec.
func (b By[T, V]) Has(rec *T, text string) bool {
	is := func(v V) bool { return !b.Key.Empty(v) && b.Key.Text(v) == text }
	if b.Values == nil {
		return is(b.Value(rec))
	}
	return slices.ContainsFunc(b.Values(rec), is)
}
