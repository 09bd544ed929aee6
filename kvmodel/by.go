package kvmodel

import "slices"

// By selects the rings or boards of a record in an index with one for each value, by one value of
// the record or by several. An empty value selects none.
type By[T, V any] struct {
	Key    KeyOf[V]
	Value  func(*T) V   // nil: use Values
	Values func(*T) []V // duplicates count once
	Field  string       // the field of Values, for messages
	Max    int          // maximum number of values of a record; 0: MaxValues
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

// Limit returns a *TooManyValuesError if rec has too many values.
func (b By[T, V]) Limit(rec *T) error {
	if b.Values == nil {
		return nil
	}
	return limited(len(b.Values(rec)), b.Max, func() []string { return []string{b.Field} })
}

// Has reports whether rec has a value with the given text.
func (b By[T, V]) Has(rec *T, text string) bool {
	is := func(v V) bool { return !b.Key.Empty(v) && b.Key.Text(v) == text }
	if b.Values == nil {
		return is(b.Value(rec))
	}
	return slices.ContainsFunc(b.Values(rec), is)
}
