package ranking

import (
	"cmp"
	"context"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/tally"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Values are the distinct values in a list with their numbers of records: the tags of a blog.
// Counts are read when they are shown. The order of a page and its choice of values follow a change
// after its reply.
type Values[V any] struct {
	tree *valueTree
	key  kvmodel.KeyOf[V]
}

// Value is a value and the number of records that have it.
type Value[V any] struct {
	Value V
	Count int64
}

var _ kvmodel.Lister[Value[string]] = (*Values[string])(nil)

// NewValues returns the values of the lists described by spec, counted by count, and plugs them
// into records. The lists must already be plugged in. Records that expire must not have such
// values, since nothing counts them down.
func NewValues[T any, K comparable, V any](records *kvmodel.Records[T, K], spec kvmodel.IndexSpec[T, V], count *tally.Derived) *Values[V] {
	t := &valueTree{count: count}
	plugValues(records, t, spec.Name, spec.Def, plug.Untyped(spec.Places))
	return &Values[V]{t, spec.Key}
}

// Page returns up to n values, 1 to 1000, from the position of cursor, the most frequent first. It
// skips values that a keep function rejects; after ten times n values it returns a short page with
// a Next. It takes two trips, and a few more if values are skipped, or one if the first page still
// has the values this process last saw there.
func (v *Values[V]) Page(ctx context.Context, cursor string, n int, keep ...func(*Value[V]) bool) (kvmodel.Listing[Value[V]], error) {
	ctx, r, err := v.tree.open(ctx, "Page")
	if err != nil {
		return kvmodel.Listing[Value[V]]{}, err
	}
	defer r.close()
	l, next, prev, err := r.page(ctx, cursor, n, v.want(keep))
	out := kvmodel.Listing[Value[V]]{Items: itemsOf[Value[V]](l.Members), Next: next, Prev: prev}
	// Counts may have changed since the order was read.
	slices.SortStableFunc(out.Items, func(a, b *Value[V]) int { return cmp.Compare(b.Count, a.Count) })
	return out, err
}

func (v *Values[V]) want(keep []func(*Value[V]) bool) keytree.Want {
	return keytree.Want{
		Met: v.tree.met, Gone: v.tree.restore,
		Beside: func(ctx context.Context, s kv.Store, ids []string) ([]any, error) {
			counts, err := v.tree.count.Known(ctx, s, ids)
			if err != nil {
				return nil, err
			}
			items := make([]any, len(ids))
			for i, id := range ids {
				if counts[i] == 0 {
					continue
				}
				value, err := v.key.Parse(id)
				if err != nil {
					return nil, err
				}
				items[i] = &Value[V]{value, counts[i]}
			}
			return items, nil
		},
		Keep: func(m keytree.Member) bool {
			item := m.Value.(*Value[V])
			if item.Count < 0 {
				item.Count = v.tree.lastKnown(m.ID, m.Score)
			}
			return plug.Kept(item, keep)
		},
	}
}

// Has reports whether any record has value. One trip.
func (v *Values[V]) Has(ctx context.Context, value V) (bool, error) {
	ctx, end := v.tree.db.Begin(ctx, "Has")
	defer end()
	n, err := v.Count(ctx, value)
	return n > 0, err
}

// Count returns the number of records that have value. One trip.
func (v *Values[V]) Count(ctx context.Context, value V) (int64, error) {
	ctx, end := v.tree.db.Begin(ctx, "Count")
	defer end()
	if err := v.tree.ready(ctx); err != nil || v.key.Empty(value) {
		return 0, err
	}
	id := v.key.Text(value)
	counts, err := v.tree.known(ctx, kv.Near(v.tree.db.Store()), []string{id})
	if err != nil {
		return 0, v.tree.reader().about(id, err)
	}
	return counts[0], nil
}

// Len returns the number of values: exact up to 8,192 while nothing changes. One trip.
func (v *Values[V]) Len(ctx context.Context) (int, error) {
	ctx, r, err := v.tree.open(ctx, "Len")
	if err != nil {
		return 0, err
	}
	defer r.close()
	return r.count(ctx)
}

// Verify reads the tree of the values and reports problems, as Board.Verify does, and given values
// that are missing.
func (v *Values[V]) Verify(ctx context.Context, values ...V) (Report, error) {
	ctx, end := v.tree.db.Begin(ctx, "Verify")
	defer end()
	return v.tree.reader().verify(ctx, v.texts(values))
}

func (v *Values[V]) texts(values []V) []string { return kv.Texts(values, v.key.Text) }

// Mend reports like Verify and repairs, as Board.Mend does. The given values catch up with their
// counts.
func (v *Values[V]) Mend(ctx context.Context, values ...V) (Report, error) {
	if err := v.tree.db.Writable(); err != nil {
		return Report{}, v.tree.failure(err)
	}
	ctx, end := v.tree.db.Begin(ctx, "Mend")
	defer end()
	if err := v.tree.followThere(ctx, v.texts(values)); err != nil {
		return Report{}, err
	}
	return v.tree.reader().mend(ctx, v.texts(values), 0, v.tree.clear)
}

// Refresh makes Len exact, unless values change while it runs. It reads every node.
func (v *Values[V]) Refresh(ctx context.Context) error {
	ctx, end := v.tree.db.Begin(ctx, "Refresh")
	defer end()
	return v.tree.reader().refresh(ctx)
}

// Rebuild copies the tree of the values into new nodes, without empty ones: see Board. If the store
// lost a part of the tree, use the Rebuild of the records instead.
func (v *Values[V]) Rebuild(ctx context.Context) error {
	ctx, end := v.tree.db.Begin(ctx, "Rebuild")
	defer end()
	return v.tree.reader().rebuild(ctx, nil, 0)
}

func (v *Values[V]) Stats() Stats { return v.tree.reader().stats() }
