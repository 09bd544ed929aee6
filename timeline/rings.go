package timeline

import (
	"slices"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Rings is a timeline of records for each value of a field, the records' owner: the
// newest pages of each author.
type Rings[T, V any] struct {
	core *core[T]
	key  kvmodel.KeyOf[V]
}

// NewRings returns the timelines that spec describes, one for each value that by
// returns unless key calls it empty, and plugs them into records.
func NewRings[T any, K comparable, V any](records *kvmodel.Records[T, K], spec Spec[T], key kvmodel.KeyOf[V], by func(*T) V) *Rings[T, V] {
	c := newCore(spec, func(rec *T) (string, bool) {
		v := by(rec)
		return key.Text(v), !key.Empty(v)
	})
	c.plug(records.Plug(c), idTextOf(records))
	return &Rings[T, V]{c, key}
}

// Of returns the timeline of one owner, or of several owners as one. Those are merged
// by the time of each change, in milliseconds by the clock of the process that made
// it, and within a millisecond by owner. Of takes no trip.
func (r *Rings[T, V]) Of(owners ...V) *Ring[T] {
	texts := kv.Texts(owners, r.key.Text)
	slices.Sort(texts)
	return r.core.ring(slices.Compact(texts)...)
}
