package kvmodel

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// KeyOf converts ids and indexed values of type K to text and back. A text has a fixed number of
// escaped parts, joined by colons. That of an id has up to 2,048 bytes, where each byte except ASCII
// letters, digits and . _ ~ - takes three: 2,048 English letters or 227 Japanese characters.
type KeyOf[K any] struct {
	Text  func(K) string
	Parse func(string) (K, error)

	// Empty reports whether a value counts as missing: an empty string, or a key with an empty
	// part. Numbers and bools are never empty.
	Empty func(K) bool

	// Compare orders keys: strings by bytes, numbers by size, false before true, and structs by the
	// first parts that differ.
	Compare func(a, b K) int

	// New returns a unique new id; nil if the app assigns ids.
	New func() K

	// Number returns the id for a number; nil if ids are not numbers.
	Number func(int64) K

	// add appends what Text returns; nil: Text alone makes it.
	add func(dst []byte, k K) []byte

	parts int // number of parts of a text; 0: one
}

// texts returns the texts of ids, which share memory.
func (k KeyOf[K]) texts(ids []K) []string {
	if k.add == nil {
		return kv.Texts(ids, k.Text)
	}
	var all strings.Builder
	var room []byte
	texts := make([]string, len(ids))
	for i, id := range ids {
		room = k.add(room[:0], id)
		if i == 0 {
			all.Grow(len(ids) * len(room))
		}
		begin := all.Len()
		all.Write(room)
		texts[i] = all.String()[begin:]
	}
	return texts
}

// StringKey is the KeyOf of strings. New ids are 26 random characters that sort by creation time.
func StringKey[K ~string]() KeyOf[K] {
	return KeyOf[K]{
		Text:    func(k K) string { return kv.JoinText(string(k)) },
		add:     func(dst []byte, k K) []byte { return kv.AppendText(dst, string(k)) },
		Parse:   parseOne(func(s string) (K, error) { return K(s), nil }),
		Empty:   func(k K) bool { return k == "" },
		Compare: cmp.Compare[K],
		New:     func() K { return K(kv.NewID(time.Now())) },
	}
}

type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64
}

// IntKey is the KeyOf of integers.
func IntKey[K integer]() KeyOf[K] {
	key := signedKey[K]()
	if K(0)-1 > 0 {
		key = unsignedKey[K]()
	}
	key.Number = func(n int64) K { return K(n) }
	return key
}

func signedKey[K integer]() KeyOf[K] {
	key := valueKey(
		func(k K) string { return strconv.FormatInt(int64(k), 10) },
		func(s string) (K, bool, error) {
			n, err := strconv.ParseInt(s, 10, 64)
			return K(n), int64(K(n)) == n && isShortest(s), err
		},
		cmp.Compare[K],
	)
	key.add = func(dst []byte, k K) []byte { return strconv.AppendInt(dst, int64(k), 10) }
	return key
}

func unsignedKey[K integer]() KeyOf[K] {
	key := valueKey(
		func(k K) string { return strconv.FormatUint(uint64(k), 10) },
		func(s string) (K, bool, error) {
			n, err := strconv.ParseUint(s, 10, 64)
			return K(n), uint64(K(n)) == n && isShortest(s), err
		},
		cmp.Compare[K],
	)
	key.add = func(dst []byte, k K) []byte { return strconv.AppendUint(dst, uint64(k), 10) }
	return key
}

// BoolKey is the KeyOf of bools.
func BoolKey[K ~bool]() KeyOf[K] {
	return valueKey(
		func(k K) string { return strconv.FormatBool(bool(k)) },
		func(s string) (K, bool, error) {
			b, err := strconv.ParseBool(s)
			return K(b), strconv.FormatBool(b) == s, err
		},
		compareBools[K],
	)
}

func compareBools[K ~bool](a, b K) int {
	switch {
	case a == b:
		return 0
	case bool(a):
		return 1
	}
	return -1
}

// isShortest reports whether the number s is in the form that Format writes.
func isShortest(s string) bool {
	digits := strings.TrimPrefix(s, "-")
	return s == "0" || digits != "" && digits[0] >= '1'
}

// valueKey returns a KeyOf without an empty value. Each value has one text: parse also reports
// whether K can hold the value and s is its canonical text.
func valueKey[K any](text func(K) string, parse func(string) (K, bool, error), compare func(a, b K) int) KeyOf[K] {
	return KeyOf[K]{
		Text:    text,
		Compare: compare,
		Parse: parseOne(func(s string) (K, error) {
			k, same, err := parse(s)
			if err == nil && !same {
				err = fmt.Errorf("%s is out of range or not in its usual form", kv.Quote(s))
			}
			return k, err
		}),
		Empty: func(K) bool { return false },
	}
}

// Key2 is the KeyOf of a struct of two fields, which split takes apart and join puts together.
func Key2[K, A, B any](a KeyOf[A], b KeyOf[B], split func(K) (A, B), join func(A, B) K) KeyOf[K] {
	return keyOfParts(2, a, b, split, join)
}

// Key3 is Key2 for three fields.
func Key3[K, A, B, C any](a KeyOf[A], b KeyOf[B], c KeyOf[C], split func(K) (A, B, C), join func(A, B, C) K) KeyOf[K] {
	return keyOfParts(3, a, Key2(b, c, pair[B, C].split, newPair[B, C]),
		func(k K) (A, pair[B, C]) {
			x, y, z := split(k)
			return x, newPair(y, z)
		},
		func(x A, rest pair[B, C]) K { return join(x, rest.first, rest.second) })
}

// Key4 is Key2 for four fields.
func Key4[K, A, B, C, D any](a KeyOf[A], b KeyOf[B], c KeyOf[C], d KeyOf[D], split func(K) (A, B, C, D), join func(A, B, C, D) K) KeyOf[K] {
	cd := Key2(c, d, pair[C, D].split, newPair[C, D])
	return keyOfParts(4, a, keyOfParts(3, b, cd, pair[B, pair[C, D]].split, newPair[B, pair[C, D]]),
		func(k K) (A, pair[B, pair[C, D]]) {
			x, y, z, w := split(k)
			return x, newPair(y, newPair(z, w))
		},
		func(x A, rest pair[B, pair[C, D]]) K {
			return join(x, rest.first, rest.second.first, rest.second.second)
		})
}

type pair[A, B any] struct {
	first  A
	second B
}

func newPair[A, B any](a A, b B) pair[A, B] { return pair[A, B]{a, b} }

func (p pair[A, B]) split() (A, B) { return p.first, p.second }

func keyOfParts[K, A, B any](n int, a KeyOf[A], b KeyOf[B], split func(K) (A, B), join func(A, B) K) KeyOf[K] {
	key := KeyOf[K]{
		parts: n,
		Text: func(k K) string {
			x, y := split(k)
			return a.Text(x) + ":" + b.Text(y)
		},
		Parse: func(text string) (k K, err error) {
			if strings.Count(text, ":") != n-1 {
				_, err := kv.TextParts(text, n)
				return k, err
			}
			first, rest, _ := strings.Cut(text, ":")
			x, errX := a.Parse(first)
			y, errY := b.Parse(rest)
			return join(x, y), work.FirstError(errX, errY)
		},
		Empty: func(k K) bool {
			x, y := split(k)
			return a.Empty(x) || b.Empty(y)
		},
		Compare: func(k, other K) int {
			x, y := split(k)
			otherX, otherY := split(other)
			return cmp.Or(a.Compare(x, otherX), b.Compare(y, otherY))
		},
	}
	if a.add != nil && b.add != nil {
		key.add = func(dst []byte, k K) []byte {
			x, y := split(k)
			return b.add(append(a.add(dst, x), ':'), y)
		}
	}
	return key
}

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
