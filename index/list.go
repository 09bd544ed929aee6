package index

import (
	"context"
	"errors"
	"iter"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// List is the records that hold one value, in an order that never changes but
// means nothing.
type List[T any, K comparable] struct {
	list list
	ids  kvmodel.KeyOf[K]
}

// list is a List without its types.
type list struct {
	host  plug.Host
	ahead *ahead.Memory // of first pages
	members
}

// Count returns how many records are in the list. It reads the whole list,
// though not the records, so use it for short lists or seldom; a counter with
// count=Model.Field has the number at no cost. Changes of this process that have
// returned are counted; one that is under way may be counted already. So may one
// that a crash has stopped halfway, until it is repaired or, where the keys are on
// several servers, a page has come across it.
func (l *List[T, K]) Count(ctx context.Context) (int, error) { return l.list.count(ctx) }

func (l *list) count(ctx context.Context) (int, error) {
	ctx, end := l.host.Begin(ctx, "Count")
	defer end()
	ctx, cancel := l.host.DB().Patient(ctx)
	defer cancel()
	if err := l.host.Ready(ctx); err != nil {
		return 0, err
	}
	return l.members.count(ctx)
}

// Size returns about how many records are in the list, by counting a part of
// it: exactly up to a few thousand, and within a few percent above. It counts
// what Count does. One trip, two the first time.
func (l *List[T, K]) Size(ctx context.Context) (int, error) { return l.list.size(ctx) }

func (l *list) size(ctx context.Context) (int, error) {
	ctx, end := l.host.Begin(ctx, "Size")
	defer end()
	ctx, cancel := l.host.DB().Patient(ctx)
	defer cancel()
	if err := l.host.Ready(ctx); err != nil {
		return 0, err
	}
	return l.members.size(ctx)
}

// Contains reports whether the record with id is in the list. It reads the
// record. One trip.
func (l *List[T, K]) Contains(ctx context.Context, id K) (bool, error) {
	return l.list.contains(ctx, l.ids.Text(id))
}

func (l *list) contains(ctx context.Context, id string) (bool, error) {
	ctx, end := l.host.Begin(ctx, "Contains")
	defer end()
	recs, err := l.host.See(ctx, kv.Near(l.store), id)
	if err != nil {
		return false, l.failure(err)
	}
	return recs[0].Holds(l.place), nil
}

// Page returns up to n records of the list, from the position that cursor stands
// for, "" for the beginning, with the cursors of the pages around it. It leaves out records
// that a keep rejects, and reads on until it has n others; when it has looked at ten times n
// entries, the page is short and has a Next. n is from 1 to 1000.
//
// The first page takes one trip if it is as this process has read it last. Otherwise a page
// takes two trips, three the first time, and a few more where records are left out. Errors are
// ErrBadCursor and ErrNeedsRebuild.
func (l *List[T, K]) Page(ctx context.Context, cursor string, n int, keep ...func(*T) bool) (kvmodel.Listing[T], error) {
	found, next, prev, err := l.list.page(ctx, cursor, n, plug.Keeps(keep))
	return kvmodel.Listing[T]{Items: plug.AllAs[T](found), Next: next, Prev: prev}, err
}

func (l *list) page(ctx context.Context, cursor string, n int, keep func(plug.Record) bool) (found []plug.Record, next, prev string, err error) {
	ctx, end := l.host.Begin(ctx, "Page")
	defer end()
	ctx, cancel := l.host.DB().Patient(ctx)
	defer cancel()
	from, err := startOf(l.name, cursor, n)
	if err == nil {
		err = l.host.Ready(ctx)
	}
	if err != nil {
		return nil, "", "", err
	}
	p := &page{list: l, ctx: ctx, s: l.store, start: from, n: n, keep: keep}
	if from.at == nil {
		first := l.ahead.Store(ctx, l.store, ahead.Look{Listing: l.name, N: n})
		defer first.Remember()
		p.s = first
	}
	if err := p.fill(); err != nil {
		return nil, "", "", l.failure(err)
	}
	next, prev = p.finish()
	return p.items, next, prev, nil
}

// Numbered returns a page of n records by its number, from 1, and how many pages and records
// there are. It reads the whole list, as Count does, and the records of the page in one trip
// more. A page may have a few records less, where some have just left the list.
func (l *List[T, K]) Numbered(ctx context.Context, page, n int) (kvmodel.Numbered[T], error) {
	found, total, err := l.list.numbered(ctx, page, n)
	if err != nil {
		return kvmodel.Numbered[T]{}, err
	}
	return kvmodel.NumberedOf(plug.AllAs[T](found), page, n, total), nil
}

func (l *list) numbered(ctx context.Context, page, n int) (items []plug.Record, total int, err error) {
	ctx, end := l.host.Begin(ctx, "Numbered")
	defer end()
	ctx, cancel := l.host.DB().Patient(ctx)
	defer cancel()
	err = kvmodel.CheckNumber(l.name, page, n)
	if err == nil {
		err = l.host.Ready(ctx)
	}
	var texts []string
	if err == nil {
		err = l.eachText(ctx, func(text string) error {
			if total++; total > (page-1)*n && total <= page*n {
				texts = append(texts, text)
			}
			return nil
		})
	}
	if err == nil && len(texts) > 0 {
		err = l.yieldRecords(ctx, texts, func(v plug.Record, err error) bool { items = append(items, v); return true })
	}
	return items, total, l.failure(err)
}

// IDs returns the ids of the records in the list, each once. It does not read the
// records, so some ids may be of records that have just left the list. It ends
// after an error.
func (l *List[T, K]) IDs(ctx context.Context) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		ctx, end := l.list.host.Begin(ctx, "IDs")
		defer end()
		if err := l.list.host.Ready(ctx); err != nil {
			var none K
			yield(none, l.list.failure(err))
			return
		}
		eachID(ctx, &l.list.members, &l.ids, yield)
	}
}

// loadAtOnce is how many records All reads in one trip.
const loadAtOnce = 100

// All returns the records in the list, each once, 100 a trip. Records that enter
// or leave while it runs may or may not be among them. It ends after an error.
func (l *List[T, K]) All(ctx context.Context) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		l.list.all(ctx, func(v plug.Record, err error) bool { return yield(plug.As[T](v), err) })
	}
}

func (l *list) all(ctx context.Context, yield func(plug.Record, error) bool) {
	ctx, end := l.host.Begin(ctx, "All")
	defer end()
	var texts []string
	err := l.host.Ready(ctx)
	if err == nil {
		err = l.eachText(ctx, func(text string) (err error) {
			if texts = append(texts, text); len(texts) == loadAtOnce {
				err = l.yieldRecords(ctx, texts, yield)
				texts = nil
			}
			return err
		})
	}
	if err == nil && len(texts) > 0 {
		err = l.yieldRecords(ctx, texts, yield)
	}
	if err != nil && !errors.Is(err, errStop) {
		yield(nil, l.failure(err))
	}
}

// yieldRecords yields the records with these ids that are in the list.
func (l *list) yieldRecords(ctx context.Context, texts []string, yield func(plug.Record, error) bool) error {
	recs, err := l.host.See(ctx, kv.Near(l.store), texts...)
	if err != nil {
		return err
	}
	for _, rec := range recs {
		if rec.Holds(l.place) && !yield(rec.Value, nil) {
			return errStop
		}
	}
	return nil
}
