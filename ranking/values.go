package ranking

import (
	"cmp"
	"context"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Values are the values that the records of a list have, each with how many records hold
// it: the tags of a blog.
//
// Every count is read when it is shown. The order of a page, and which values are on it,
// follow a change after its reply, and are right once it is complete. What a crash leaves
// half done is repaired as in every index.
type Values[V any] struct {
	tree *valueTree
	key  kvmodel.KeyOf[V]
}

// Value is a value and how many records hold it.
type Value[V any] struct {
	Value V
	Count int64
}

var _ kvmodel.Lister[Value[string]] = (*Values[string])(nil)

// NewValues returns the values of the lists that spec describes, whose members are counted
// by count, and plugs them into records. The lists are plugged in already. Records that
// expire must not have such values, since nothing counts them down.
func NewValues[T any, K comparable, V any](records *kvmodel.Records[T, K], spec kvmodel.IndexSpec[T, V], count *kvmodel.Derived) *Values[V] {
	t := &valueTree{count: count}
	plugValues(records, t, spec.Name, spec.Def, plug.Untyped(spec.Places))
	return &Values[V]{t, spec.Key}
}

// Page returns up to n values from the position of cursor, those that most records hold
// first. Values that equally many hold have an order of their own. It leaves out values that
// a keep rejects, and reads on until it has n others; when it has looked at ten times n, the
// page is short and has a Next. n is from 1 to 1000. Two trips, and a few more where values are
// left out; the first page takes one if the values on it are those that this process has seen
// there last.
func (v *Values[V]) Page(ctx context.Context, cursor string, n int, keep ...func(*Value[V]) bool) (kvmodel.Listing[Value[V]], error) {
	ctx, end := v.tree.db.Begin(ctx, "Page")
	defer end()
	if err := v.tree.ready(ctx); err != nil {
		return kvmodel.Listing[Value[V]]{}, err
	}
	l, next, prev, err := v.tree.reader().page(ctx, cursor, n, v.want(keep))
	out := kvmodel.Listing[Value[V]]{Items: itemsOf[Value[V]](l.Members), Next: next, Prev: prev}
	// A count that has changed since the order was read is shown as it is.
	slices.SortStableFunc(out.Items, func(a, b *Value[V]) int { return cmp.Compare(b.Count, a.Count) })
	return out, err
}

// want asks for the values that every function of keep accepts, each with its count.
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

// Has reports whether any record holds value. One trip.
func (v *Values[V]) Has(ctx context.Context, value V) (bool, error) {
	ctx, end := v.tree.db.Begin(ctx, "Has")
	defer end()
	n, err := v.Count(ctx, value)
	return n > 0, err
}

// Count returns how many records hold value. One trip.
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

// Len returns how many values there are: exactly up to 8,192, while nothing changes, and a
// few more or less above. One trip.
func (v *Values[V]) Len(ctx context.Context) (int, error) {
	ctx, end := v.tree.db.Begin(ctx, "Len")
	defer end()
	if err := v.tree.ready(ctx); err != nil {
		return 0, err
	}
	return v.tree.reader().count(ctx)
}
