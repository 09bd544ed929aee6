package index

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/ringtree/ringtree/internal/ahead"
	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// List is the records that hold one value, in an arbitrary order that never changes.
type List[T any, K comparable] struct {
	list list
	ids  kvmodel.KeyOf[K]
}

type list struct {
	host  plug.Host
	ahead *ahead.Memory // of first pages
	logs  *memberlog.Logs
	store kv.Store
	place string
	name  string
}

func (l *list) failure(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", l.name, err)
}

var errStop = errors.New("stop")

func (l *list) eachText(ctx context.Context, f func(text string) error) error {
	return l.logs.Each(ctx, kv.Near(l.store), l.place, f)
}

// Count returns the number of records in the list. It reads the whole list, though not the records:
// use count=Model.Field where that is too slow. It includes completed changes of this process. A
// change in progress may be counted, and so may one interrupted by a crash, until it is repaired or
// a page has read it.
func (l *List[T, K]) Count(ctx context.Context) (int, error) {
	return l.list.number(ctx, "Count", l.list.logs.Count)
}

// Size returns about the number of records in the list: exact up to a few thousand, within a few
// percent above. One trip, two the first time.
func (l *List[T, K]) Size(ctx context.Context) (int, error) {
	return l.list.number(ctx, "Size", l.list.logs.Size)
}

func (l *list) number(ctx context.Context, verb string, of func(context.Context, kv.Store, string) (int, error)) (int, error) {
	return readNumber(ctx, l.host, verb, func(ctx context.Context) (int, error) {
		n, err := of(ctx, kv.Near(l.store), l.place)
		return n, l.failure(err)
	})
}

// readNumber reads a number of lists for a verb of the app.
func readNumber(ctx context.Context, host plug.Host, verb string, read func(context.Context) (int, error)) (int, error) {
	ctx, end := host.Begin(ctx, verb)
	defer end()
	ctx, cancel := host.DB().Patient(ctx)
	defer cancel()
	if err := host.Ready(ctx); err != nil {
		return 0, err
	}
	return read(ctx)
}

// Contains reports whether the record with id is in the list, by reading it. One trip.
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

// Page returns up to n records, 1 to 1000, from cursor on, "" for the beginning, with the cursors
// of the adjacent pages. It skips records that a keep rejects; after ten times n entries it returns
// a short page with a Next.
//
// The first page takes one trip if it has not changed since this process last read it. Otherwise a
// page takes two trips, three the first time, and a few more if records are skipped. Errors are
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
		first := l.ahead.Store(ctx, l.store, func() ahead.Look { return ahead.Look{Listing: l.name, N: n} })
		defer first.Remember()
		p.s = first
	}
	if err := p.fill(); err != nil {
		return nil, "", "", l.failure(err)
	}
	next, prev = p.finish()
	return p.items, next, prev, nil
}

// Numbered returns a page of n records by its number, from 1, and the number of pages and records.
// It reads the whole list, and the records of the page in one more trip. A page may lack a few
// records that have just left the list.
func (l *List[T, K]) Numbered(ctx context.Context, page, n int) (kvmodel.Numbered[T], error) {
	found, total, err := l.list.numbered(ctx, page, n)
	if err != nil {
		return kvmodel.Numbered[T]{}, err
	}
	return kvmodel.Numbered[T]{Items: plug.AllAs[T](found), Page: page, Pages: plug.Pages(total, n), Total: total}, nil
}

func (l *list) numbered(ctx context.Context, page, n int) (items []plug.Record, total int, err error) {
	ctx, end := l.host.Begin(ctx, "Numbered")
	defer end()
	ctx, cancel := l.host.DB().Patient(ctx)
	defer cancel()
	err = plug.CheckNumber(l.name, page, n)
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

// IDs returns the ids of the records in the list, each once, without reading these, so a few may
// have just left it. It ends after an error.
func (l *List[T, K]) IDs(ctx context.Context) iter.Seq2[K, error] {
	return func(yield func(K, error) bool) {
		ctx, end := l.list.host.Begin(ctx, "IDs")
		defer end()
		err := l.list.host.Ready(ctx)
		if err == nil {
			err = l.list.eachText(ctx, func(text string) error {
				id, err := l.ids.Parse(text)
				if err == nil && !yield(id, nil) {
					err = errStop
				}
				return err
			})
		}
		if err != nil && !errors.Is(err, errStop) {
			var none K
			yield(none, l.list.failure(err))
		}
	}
}

const loadAtOnce = 100

// All returns the records in the list, each once, 100 per trip. Records that enter or leave
// meanwhile may or may not be included. It ends after an error.
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
