package kvmodel

import (
	"time"

	"github.com/ringtree/ringtree/internal/wire"
)

// Schema describes a model, the struct T with ids of type K, to its data class.
// kvgen writes it from the struct's tags.
type Schema[T any, K comparable] struct {
	Name    string // of the model, part of its stored keys
	Version int    // of the model, for Upgrade

	ID    func(*T) K
	SetID func(*T, K)
	Key   KeyOf[K]
	Codec Codec[T]

	// Private are the fields, by their stored names, whose values package inspect shows as
	// *** unless asked for them.
	Private []string

	// Sequential: ids are the numbers 1, 2, 3, ..., given by Create in that order
	// without a counter. The number of a deleted record is not used again.
	Sequential bool

	// History is how many bodies of a record are kept; 0: only the newest. With a
	// history, a deleted record keeps its tombstone forever, unless Forget says that a
	// deletion takes the history along.
	History int
	Forget  bool

	// Relaxed: changes of the records and their counters are made under a Relaxed context.
	Relaxed bool

	// Children are lists, each MODEL.INDEX, of records that are deleted with the record
	// whose id they are under.
	Children []string

	// Gone is what earlier releases kept and this one does not. Rebuild drops it.
	Gone Gone

	// Counters are filled in when a record is loaded. They are not part of what is
	// stored under its key.
	Counters []CounterOf[T]

	// Fields that the data class fills in; nil where the model has none. A new record keeps
	// a Created that was set.
	Revision func(*T) *int64     // kv:"version"
	Created  func(*T) *time.Time // kv:"created"
	Updated  func(*T) *time.Time // kv:"updated"
	Expires  func(*T) *time.Time // kv:"expires"
}

// Codec turns a T into bytes and back. The *codec.Model that kvgen writes is
// one.
type Codec[T any] interface {
	// Append appends the encoded v to dst.
	Append(dst []byte, v *T) ([]byte, error)

	// Unmarshal fills v from data, of which it keeps nothing. It reports whether
	// data has fields that v does not.
	Unmarshal(data []byte, v *T) (unknown bool, err error)

	// Merge returns next with the fields of prev that T does not know.
	Merge(prev, next []byte) ([]byte, error)
}

// IndexSpec describes an index over values of type V.
type IndexSpec[T, V any] struct {
	Name   string   // BySlug: unique in the model, part of the index's stored keys
	Def    string   // the definition; when it changes, the index must be rebuilt
	Fields []string // what it is over, for messages
	Max    int      // how many values a record may have; 0: MaxValues
	Key    KeyOf[V]
	Values func(*T) []V
	If     func(*T) bool // which records the index holds; nil: all
}

// Places returns the texts of rec's values, each once, without empty ones.
func (s *IndexSpec[T, V]) Places(rec *T) []string {
	if s.If != nil && !s.If(rec) {
		return nil
	}
	return textsOf(s.Key, s.Values(rec))
}

// Limit returns a *TooManyValuesError if rec has more values than it may have.
func (s *IndexSpec[T, V]) Limit(rec *T) error {
	if s.If != nil && !s.If(rec) {
		return nil
	}
	return limited(len(s.Values(rec)), s.Max, func() []string { return s.Fields })
}

// textsOf returns the texts of values, each once, without empty ones.
func textsOf[V any](key KeyOf[V], values []V) []string {
	var texts []string
	var known wire.TextSet
	for _, v := range values {
		if key.Empty(v) {
			continue
		}
		if text := key.Text(v); known.Add(text) {
			texts = append(texts, text)
		}
	}
	return texts
}
