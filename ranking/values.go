package ranking

import (
	"cmp"
	"context"
	"fmt"
	"iter"
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
// into records. The lists must already be plugged in. The records must not expire.
func NewValues[T any, K comparable, V any](records *kvmodel.Records[T, K], spec kvmodel.IndexSpec[T, V], count *tally.Derived) *Values[V] {
	t := &valueTree{count: count}
	plugValues(records, t, spec.Name, spec.Def, plug.Untyped(spec.Places))
	return &Values[V]{t, spec.Key}
}

// Page returns up to n values, 1 to 1000, from the position of cursor, the most frequent first. It
// skips values that a keep function rejects; after ten times n values it returns a short page with
// a Next. The trips are those of Board.Page.
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

// Verify reports problems, as Board.Verify does, and given values that are missing.
func (v *Values[V]) Verify(ctx context.Context, values ...V) (Report, error) {
	ctx, end := v.tree.db.Begin(ctx, "Verify")
	defer end()
	return v.tree.reader().verify(ctx, v.texts(values))
}

func (v *Values[V]) texts(values []V) []string { return kv.Texts(values, v.key.Text) }

// Mend repairs as Board.Mend does. The given values catch up with their counts.
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

// Rebuild copies the tree as Board.Rebuild does. If the store lost a part of it, use the Rebuild of
// the records instead.
func (v *Values[V]) Rebuild(ctx context.Context) error {
	ctx, end := v.tree.db.Begin(ctx, "Rebuild")
	defer end()
	return v.tree.reader().rebuild(ctx, nil, 0)
}

func (v *Values[V]) Stats() Stats { return v.tree.reader().stats() }

// Words is like Page, in the order of the values: texts by their bytes, numbers by their size. No
// index has that order, so each page reads all values, in a trip for some 4,000 of them, and sorts
// them; then it reads the counts, in one trip, and a few more if values are skipped. A value whose
// last record goes meanwhile may be left out.
func (v *Values[V]) Words(ctx context.Context, cursor string, n int, keep ...func(*Value[V]) bool) (kvmodel.Listing[Value[V]], error) {
	l := kvmodel.Listing[Value[V]]{Items: []*Value[V]{}}
	from, back, err := v.wordAt(cursor)
	if err = cmp.Or(plug.CheckPage(v.wordsName(), n), err); err != nil {
		return kvmodel.Listing[Value[V]]{}, err
	}
	ctx, end := v.tree.db.Begin(ctx, "Words")
	defer end()
	ctx, cancel := v.tree.db.Patient(ctx)
	defer cancel()
	all, err := v.words(ctx)
	if err != nil {
		return kvmodel.Listing[Value[V]]{}, err
	}
	first := 0
	if from != nil {
		var found bool
		if first, found = slices.BinarySearchFunc(all, *from, v.key.Compare); found && !back {
			first++
		}
	}
	rest, last := all[first:], first
	if back {
		rest = slices.Clone(all[:first])
		slices.Reverse(rest)
	}
	looked := 0
	for ask := n; ask > 0 && looked < len(rest); ask = plug.Ask(n, len(l.Items), looked) {
		some := rest[looked:min(len(rest), looked+ask)]
		items, err := v.counted(ctx, some)
		if err != nil {
			return kvmodel.Listing[Value[V]]{}, err
		}
		looked += v.addTo(&l, n, some, items, keep)
	}
	if last += looked; back {
		first, last = first-looked, first
		slices.Reverse(l.Items)
	}
	if last > 0 && last < len(all) {
		l.Next = v.wordCursor(onward, all[last-1])
	}
	if first > 0 && first < len(all) {
		l.Prev = v.wordCursor(backward, all[first])
	}
	return l, nil
}

const (
	onward   = '>'
	backward = '<'
)

func (v *Values[V]) wordsName() string { return v.tree.title + " words" }

func (v *Values[V]) wordCursor(direction byte, at V) string {
	return plug.Cursor(v.wordsName(), append([]byte{direction}, v.key.Text(at)...))
}

// wordAt returns nil for the beginning. back: the page is before from.
func (v *Values[V]) wordAt(cursor string) (from *V, back bool, err error) {
	if cursor == "" {
		return nil, false, nil
	}
	b, err := plug.ParseCursor(v.wordsName(), cursor)
	if err != nil {
		return nil, false, err
	}
	if len(b) > 0 && (b[0] == onward || b[0] == backward) {
		if at, err := v.key.Parse(string(b[1:])); err == nil {
			return &at, b[0] == backward, nil
		}
	}
	return nil, false, fmt.Errorf("%s: %w", v.wordsName(), kvmodel.ErrBadCursor)
}

// take adds the kept items, those of some with a count, until the page is full, and returns how
// many of some it consumed.
func (v *Values[V]) addTo(l *kvmodel.Listing[Value[V]], n int, some []V, items []*Value[V], keep []func(*Value[V]) bool) (looked int) {
	for _, word := range some {
		if len(l.Items) == n {
			break
		}
		if looked++; len(items) > 0 && v.key.Compare(items[0].Value, word) == 0 {
			if plug.Kept(items[0], keep) {
				l.Items = append(l.Items, items[0])
			}
			items = items[1:]
		}
	}
	return looked
}

// All returns each value once, in the order of Words, and ends after an error. It reads all values
// first, and then the counts of a thousand in each trip.
func (v *Values[V]) All(ctx context.Context) iter.Seq2[*Value[V], error] {
	return func(yield func(*Value[V], error) bool) {
		ctx, end := v.tree.db.Begin(ctx, "All")
		defer end()
		words, err := v.words(ctx)
		for some := range slices.Chunk(words, kvmodel.MaxPage) {
			var items []*Value[V]
			if items, err = v.counted(ctx, some); err != nil {
				break
			}
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

func (v *Values[V]) words(ctx context.Context) (words []V, err error) {
	if err := v.tree.ready(ctx); err != nil {
		return nil, err
	}
	err = v.tree.tree.Scan(ctx, kv.Near(v.tree.db.Store()), func(ids []string) error {
		for _, id := range ids {
			word, err := v.key.Parse(id)
			if err != nil {
				return err
			}
			words = append(words, word)
		}
		return nil
	})
	slices.SortFunc(words, v.key.Compare)
	words = slices.CompactFunc(words, func(a, b V) bool { return v.key.Compare(a, b) == 0 })
	return words, v.tree.failure(err)
}

func (v *Values[V]) counted(ctx context.Context, words []V) (items []*Value[V], err error) {
	if len(words) == 0 {
		return nil, nil
	}
	counts, err := v.tree.known(ctx, kv.Near(v.tree.db.Store()), kv.Texts(words, v.key.Text))
	if err != nil {
		return nil, v.tree.failure(err)
	}
	for i, n := range counts {
		if n > 0 {
			items = append(items, &Value[V]{words[i], n})
		}
	}
	return items, nil
}
