package ranking

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Words is like Page, in the order of the values: texts by their bytes, numbers by their size. No
// index has that order, so each page reads all values, in a trip for some 4,000 of them, and sorts
// them; then it reads the counts, in one trip, and a few more if values are skipped. A value whose
// last record goes while the page is read may be left out.
func (v *Values[V]) Words(ctx context.Context, cursor string, n int, keep ...func(*Value[V]) bool) (kvmodel.Listing[Value[V]], error) {
	var none kvmodel.Listing[Value[V]]
	p := &wordPage[V]{Values: v, n: n, keep: keep}
	err := plug.CheckPage(p.name(), n)
	if err == nil && cursor != "" {
		err = p.start(cursor)
	}
	if err != nil {
		return none, err
	}
	ctx, end := v.tree.db.Begin(ctx, "Words")
	defer end()
	ctx, cancel := v.tree.db.Patient(ctx)
	defer cancel()
	if p.all, err = v.words(ctx); err != nil {
		return none, err
	}
	return p.listing(ctx)
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

type wordPage[V any] struct {
	*Values[V]
	n    int
	keep []func(*Value[V]) bool

	from *V   // the position; nil: the beginning
	back bool // return the values before from

	all []V // in order
}

const (
	onward = '>'
	back   = '<'
)

func (p *wordPage[V]) name() string { return p.tree.title + " words" }

// start sets the position to the value in cursor.
func (p *wordPage[V]) start(cursor string) error {
	b, err := plug.ParseCursor(p.name(), cursor)
	if err != nil {
		return err
	}
	if len(b) > 0 && (b[0] == onward || b[0] == back) {
		if from, err := p.key.Parse(string(b[1:])); err == nil {
			p.from, p.back = &from, b[0] == back
			return nil
		}
	}
	return fmt.Errorf("%s: %w", p.name(), kvmodel.ErrBadCursor)
}

func (p *wordPage[V]) cursor(direction byte, at V) string {
	return plug.Cursor(p.name(), append([]byte{direction}, p.key.Text(at)...))
}

func (p *wordPage[V]) listing(ctx context.Context) (l kvmodel.Listing[Value[V]], err error) {
	at := p.begin()
	end := at // everything between the two was looked at
	l.Items = []*Value[V]{}
	for ask := p.n; ask > 0; ask = plug.Ask(p.n, len(l.Items), max(end-at, at-end)) {
		some := p.ahead(end, ask)
		if len(some) == 0 {
			break
		}
		items, err := p.counted(ctx, some)
		if err != nil {
			return kvmodel.Listing[Value[V]]{}, err
		}
		end += p.take(&l, some, items)
	}
	if p.back {
		slices.Reverse(l.Items)
	}
	if after := max(at, end); after > 0 && after < len(p.all) {
		l.Next = p.cursor(onward, p.all[after-1])
	}
	if first := min(at, end); first > 0 && first < len(p.all) {
		l.Prev = p.cursor(back, p.all[first])
	}
	return l, nil
}

// take adds the kept items to the page until it is full, and returns the number of words it
// consumed, negative backward. items are the words with a count.
func (p *wordPage[V]) take(l *kvmodel.Listing[Value[V]], some []V, items []*Value[V]) (moved int) {
	for _, word := range some {
		if len(l.Items) == p.n {
			break
		}
		if moved++; len(items) > 0 && p.key.Compare(items[0].Value, word) == 0 {
			if plug.Kept(items[0], p.keep) {
				l.Items = append(l.Items, items[0])
			}
			items = items[1:]
		}
	}
	if p.back {
		return -moved
	}
	return moved
}

func (p *wordPage[V]) ahead(end, n int) []V {
	if !p.back {
		return p.all[end:min(len(p.all), end+n)]
	}
	some := slices.Clone(p.all[max(0, end-n):end])
	slices.Reverse(some)
	return some
}

func (p *wordPage[V]) begin() int {
	if p.from == nil {
		return 0
	}
	at, found := slices.BinarySearchFunc(p.all, *p.from, p.key.Compare)
	if found && !p.back {
		at++
	}
	return at
}
