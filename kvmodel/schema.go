package kvmodel

import (
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/erase"
)

// Schema describes a model, the struct T with ids of type K, to its data class. kvgen generates it
// from the struct's tags.
type Schema[T any, K comparable] struct {
	Name    string // of the model, part of stored keys
	Version int    // of the model, for Upgrade

	ID    func(*T) K
	SetID func(*T, K)
	Key   KeyOf[K]
	Codec Codec[T]

	// Private are fields, by stored name, that package inspect shows as *** unless asked.
	Private []string

	// Sequential: Create assigns the ids 1, 2, 3, ... A deleted record's number is not reused.
	Sequential bool

	// History is the number of revisions kept of a record, 0 for only the newest. Its tombstones
	// never expire, unless Forget makes a deletion remove the history.
	History int
	Forget  bool

	// Relaxed: changes of the records and their counters are made under a Relaxed context.
	Relaxed bool

	// Children are lists, each MODEL.INDEX, of records that are deleted together with the record
	// whose id the list is under.
	Children []string

	// Gone lists data of earlier releases that this one no longer keeps. Rebuild drops it.
	Gone Gone

	// Counters are set when a record is loaded. They are not stored under its key.
	Counters []CounterOf[T]

	// Fields that the data class maintains; nil if the model has none. A new record keeps a preset
	// Created.
	Revision func(*T) *int64     // kv:"version"
	Created  func(*T) *time.Time // kv:"created"
	Updated  func(*T) *time.Time // kv:"updated"
	Expires  func(*T) *time.Time // kv:"expires"
}

// Gone lists data of earlier releases that this one no longer keeps for a model, by stored names:
// Indexes, Counters, and History, which reports whether there was one.
// kvgen generates it from kvgen.lock.
type Gone = erase.Gone

// Codec encodes and decodes a T. kvgen generates one, a *codec.Model.
type Codec[T any] interface {
	// Append appends the encoded v to dst.
	Append(dst []byte, v *T) ([]byte, error)

	// Unmarshal decodes data into v and retains none of it. It reports whether data has fields that
	// v does not have.
	Unmarshal(data []byte, v *T) (unknown bool, err error)

	// Merge returns next with the fields of prev that T does not have.
	Merge(prev, next []byte) ([]byte, error)
}

// IndexSpec describes an index over values of type V.
type IndexSpec[T, V any] struct {
	Name   string   // BySlug: unique in the model, part of stored keys
	Def    string   // when the definition changes, the index must be rebuilt
	Fields []string // the indexed fields, for messages
	Max    int      // maximum number of values of a record; 0: 1000
	Key    KeyOf[V]
	Values func(*T) []V
	If     func(*T) bool // selects the records in the index; nil: all
}

// Places returns the texts of rec's values, without duplicates and empty ones.
func (s *IndexSpec[T, V]) Places(rec *T) []string {
	if s.If != nil && !s.If(rec) {
		return nil
	}
	return textsOf(s.Key, s.Values(rec))
}

// Limit returns an ErrTooLarge if rec has too many values. ProblemsOf knows it.
func (s *IndexSpec[T, V]) Limit(rec *T) error {
	if s.If != nil && !s.If(rec) {
		return nil
	}
	return limited(len(s.Values(rec)), s.Max, func() []string { return s.Fields })
}

// textsOf returns the texts of values, without duplicates and empty ones.
func textsOf[V any](key KeyOf[V], values []V) []string {
	texts := wire.Sized(len(values))
	for _, v := range values {
		if !key.Empty(v) {
			texts.Add(key.Text(v))
		}
	}
	return texts.All()
}

// By selects the rings or boards of a record in an index with one for each value. An empty value
// selects none.
type By[T, V any] struct {
	Key    KeyOf[V]
	Value  func(*T) V   // nil: use Values
	Values func(*T) []V // duplicates count once
	Field  string       // the field of Values, for messages
	Max    int          // maximum number of values of a record; 0: 1000
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

// Limit returns an ErrTooLarge if rec has too many values. ProblemsOf knows it.
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

// sharer is a Codec whose values may refer to the bytes they were decoded from.
type sharer[T any] interface {
	UnmarshalShared(data []byte, v *T) (unknown bool, err error)
}

type copier[T any] interface {
	Copies() bool
	CopyTo(to, v *T)
}

// copies is room for a few copies: a caller that keeps one keeps all.
type copies[T any] struct {
	of   [copiedAtOnce]T
	used int
}

const copiedAtOnce = 4

// next returns the next of them; of nil, a new one.
func (c *copies[T]) next() *T {
	if c == nil {
		return new(T)
	}
	c.used++
	return &c.of[c.used-1]
}

type bodiesOf[T any] struct{ Codec[T] }

func (b bodiesOf[T]) Append(dst []byte, v plug.Record) ([]byte, error) {
	return b.Codec.Append(dst, v.(*T))
}

func (b bodiesOf[T]) Unmarshal(data []byte, v plug.Record) (unknown bool, err error) {
	return b.Codec.Unmarshal(data, v.(*T))
}

func (b bodiesOf[T]) UnmarshalShared(data []byte, v plug.Record) (unknown bool, err error) {
	if codec, ok := b.Codec.(sharer[T]); ok {
		return codec.UnmarshalShared(data, v.(*T))
	}
	return b.Codec.Unmarshal(data, v.(*T))
}

func (b bodiesOf[T]) Copies() bool {
	codec, ok := b.Codec.(copier[T])
	return ok && codec.Copies()
}

func (b bodiesOf[T]) CopyOf(v plug.Record, room any, wanted int) (plug.Record, any) {
	some, _ := room.(*copies[T])
	if some == nil && wanted >= copiedAtOnce {
		some = new(copies[T])
	}
	to := some.next()
	b.Codec.(copier[T]).CopyTo(to, v.(*T))
	if some == nil || some.used == copiedAtOnce {
		return to, nil
	}
	return to, some
}

// Counters are numbers of a record that change too often to be part of it, so each has its own key,
// read in the same trip. A plain counter is deleted with its record; a derived count belongs to
// lists and stays.

// CounterOf is a counter of records of type T. Set stores its value in a loaded record.
type CounterOf[T any] struct {
	Name    string
	Derived bool // counts the members of lists: see [DB.Derived]
	Sum     bool // adds up a number of each member: see [DB.Sum]
	Set     func(*T, int64)
}

func newCounters[T any](db *DB, model string, all []CounterOf[T]) []core.Counter {
	var counters []core.Counter
	for _, of := range all {
		c := core.Counter{Name: of.Name, Set: func(v plug.Record, n int64) { of.Set(v.(*T), n) }}
		switch {
		case of.Sum:
			c.Derived = db.Sum(model, of.Name)
		case of.Derived:
			c.Derived = db.Derived(model, of.Name)
		default:
			c.Plain = db.Tally(model, of.Name)
		}
		counters = append(counters, c)
	}
	return counters
}
