package kvmodel

import (
	"fmt"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// MaxID is the length limit of the text of a record's id, in bytes.
const MaxID = 4 << 10

// KeyOf turns ids and indexed values of type K into text and back. A text has
// a fixed number of escaped parts, joined by colons.
type KeyOf[K any] struct {
	Text  func(K) string
	Parse func(string) (K, error)

	// Empty tells whether a value counts as none: an empty string, or a key
	// with such a part. Numbers and bools always count.
	Empty func(K) bool

	// New returns an id nobody else has; nil where ids are given by the app.
	New func() K

	// Number returns the id of a number; nil where ids are no numbers.
	Number func(int64) K
}

// StringKey is the KeyOf of strings. New ids are 26 characters, random and in
// the order of their creation.
func StringKey[K ~string]() KeyOf[K] {
	return KeyOf[K]{
		Text:  func(k K) string { return kv.JoinText(string(k)) },
		Parse: parseOne(func(s string) (K, error) { return K(s), nil }),
		Empty: func(k K) bool { return k == "" },
		New:   func() K { return K(kv.NewID(time.Now())) },
	}
}

// IntKey is the KeyOf of signed integers.
func IntKey[K ~int | ~int8 | ~int16 | ~int32 | ~int64]() KeyOf[K] {
	key := valueKey(
		func(k K) string { return strconv.FormatInt(int64(k), 10) },
		func(s string) (K, error) { n, err := strconv.ParseInt(s, 10, 64); return K(n), err },
	)
	key.Number = func(n int64) K { return K(n) }
	return key
}

// UintKey is the KeyOf of unsigned integers.
func UintKey[K ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64]() KeyOf[K] {
	key := valueKey(
		func(k K) string { return strconv.FormatUint(uint64(k), 10) },
		func(s string) (K, error) { n, err := strconv.ParseUint(s, 10, 64); return K(n), err },
	)
	key.Number = func(n int64) K { return K(n) }
	return key
}

// BoolKey is the KeyOf of bools.
func BoolKey[K ~bool]() KeyOf[K] {
	return valueKey(
		func(k K) string { return strconv.FormatBool(bool(k)) },
		func(s string) (K, error) { b, err := strconv.ParseBool(s); return K(b), err },
	)
}

// valueKey is a KeyOf without an empty value. Each value has one text: what K
// cannot hold, or would be written otherwise, is no text of it.
func valueKey[K any](text func(K) string, parse func(string) (K, error)) KeyOf[K] {
	return KeyOf[K]{
		Text: text,
		Parse: parseOne(func(s string) (K, error) {
			k, err := parse(s)
			if err == nil && text(k) != s {
				err = fmt.Errorf("%s is out of range or not how it is written", kv.Quote(s))
			}
			return k, err
		}),
		Empty: func(K) bool { return false },
	}
}

// Key2 is the KeyOf of a struct of two fields, which split and join take apart
// and put together.
func Key2[K, A, B any](a KeyOf[A], b KeyOf[B], split func(K) (A, B), join func(A, B) K) KeyOf[K] {
	return KeyOf[K]{
		Text: func(k K) string {
			x, y := split(k)
			return a.Text(x) + ":" + b.Text(y)
		},
		Parse: func(text string) (k K, err error) {
			parts, err := kv.TextParts(text, 2)
			if err != nil {
				return k, err
			}
			x, errX := a.Parse(parts[0])
			y, errY := b.Parse(parts[1])
			return join(x, y), firstError([]error{errX, errY})
		},
		Empty: func(k K) bool {
			x, y := split(k)
			return a.Empty(x) || b.Empty(y)
		},
	}
}

// Key3 is Key2 for three fields.
func Key3[K, A, B, C any](a KeyOf[A], b KeyOf[B], c KeyOf[C], split func(K) (A, B, C), join func(A, B, C) K) KeyOf[K] {
	return KeyOf[K]{
		Text: func(k K) string {
			x, y, z := split(k)
			return a.Text(x) + ":" + b.Text(y) + ":" + c.Text(z)
		},
		Parse: func(text string) (k K, err error) {
			parts, err := kv.TextParts(text, 3)
			if err != nil {
				return k, err
			}
			x, errX := a.Parse(parts[0])
			y, errY := b.Parse(parts[1])
			z, errZ := c.Parse(parts[2])
			return join(x, y, z), firstError([]error{errX, errY, errZ})
		},
		Empty: func(k K) bool {
			x, y, z := split(k)
			return a.Empty(x) || b.Empty(y) || c.Empty(z)
		},
	}
}

// Key4 is Key2 for four fields.
func Key4[K, A, B, C, D any](a KeyOf[A], b KeyOf[B], c KeyOf[C], d KeyOf[D], split func(K) (A, B, C, D), join func(A, B, C, D) K) KeyOf[K] {
	return KeyOf[K]{
		Text: func(k K) string {
			x, y, z, w := split(k)
			return a.Text(x) + ":" + b.Text(y) + ":" + c.Text(z) + ":" + d.Text(w)
		},
		Parse: func(text string) (k K, err error) {
			parts, err := kv.TextParts(text, 4)
			if err != nil {
				return k, err
			}
			x, errX := a.Parse(parts[0])
			y, errY := b.Parse(parts[1])
			z, errZ := c.Parse(parts[2])
			w, errW := d.Parse(parts[3])
			return join(x, y, z, w), firstError([]error{errX, errY, errZ, errW})
		},
		Empty: func(k K) bool {
			x, y, z, w := split(k)
			return a.Empty(x) || b.Empty(y) || c.Empty(z) || d.Empty(w)
		},
	}
}

// parseOne returns a Parse for texts of one part.
func parseOne[K any](parse func(string) (K, error)) func(string) (K, error) {
	return func(text string) (k K, err error) {
		part := text
		if !kv.Plain(text) {
			parts, err := kv.SplitText(text, 1)
			if err != nil {
				return k, err
			}
			part = parts[0]
		}
		if k, err = parse(part); err != nil {
			return k, fmt.Errorf("id text %s: %w", kv.Quote(text), err)
		}
		return k, nil
	}
}
