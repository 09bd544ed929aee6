package timeline

import (
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Rings is a timeline of records for each value of a field, the records' owner: the newest pages of
// each author, or of each tag. A record may have several owners.
type Rings[T, V any] struct {
	core *core
	key  kvmodel.KeyOf[V]
}

// NewRings returns the timelines described by spec, one for each value of by, and plugs them into
// records.
func NewRings[T any, K comparable, V any](records *kvmodel.Records[T, K], spec Spec[T], by kvmodel.By[T, V]) *Rings[T, V] {
	c := newCore(spec.untyped(), ownersOf[T, V]{by})
	c.several = by.Values != nil
	c.join(records, c, idTextOf(records))
	return &Rings[T, V]{c, by.Key}
}

// Of returns the timeline of one owner, or of several owners merged: by the time of each change, in
// milliseconds by the clock of its process, and within a millisecond by owner. A record with
// several of the owners is shown once, where the last of these changes put it. Without owners the
// timeline is empty. Of takes no trip.
func (r *Rings[T, V]) Of(owners ...V) *Ring[T] {
	texts := kv.Texts(owners, r.key.Text)
	slices.Sort(texts)
	return &Ring[T]{r.core.ring(slices.Compact(texts)...)}
}

// ownersOf returns the values of a By as owners.
type ownersOf[T, V any] struct{ by kvmodel.By[T, V] }

func (o ownersOf[T, V]) Texts(rec plug.Record) []string { return o.by.Texts(rec.(*T)) }

// Limit returns an error if rec has too many owners.
func (o ownersOf[T, V]) Limit(rec plug.Record) error { return o.by.Limit(rec.(*T)) }

func (o ownersOf[T, V]) Has(rec plug.Record, text string) bool { return o.by.Has(rec.(*T), text) }
