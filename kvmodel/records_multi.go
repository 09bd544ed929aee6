package kvmodel

import (
	"context"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Calls for many records share trips, 500 records at a time. Every record is changed or fails on
// its own: the error joins an *ItemError for each failed one. Items iterates over these.

const (
	changedAtOnce = 500 // records changed in shared trips
	batchesAtOnce = 2   // so that one is prepared while the store works on the other
)

// CreateMulti is Create for many records, in no particular order. Numbers are assigned in the order
// of vs.
func (r *Records[T, K]) CreateMulti(ctx context.Context, vs []*T) error {
	ctx, end := r.m.db.Begin(ctx, "CreateMulti")
	defer end()
	if r.m.numbers == nil {
		return itemErrors(r.m.several(ctx, len(vs), nil, func(ctx context.Context, s kv.Store, i int, rest *rest) error {
			return r.create(ctx, s, vs[i], rest)
		}))
	}
	if r.m.db.atomic != nil {
		return itemErrors(r.m.severalNext(ctx, len(vs), func(i int) numbered { return r.numbered(vs[i]) }))
	}
	errs := make([]error, len(vs))
	for i, v := range vs {
		errs[i] = r.Create(ctx, v)
	}
	return itemErrors(errs)
}

// PutMulti is Put for many records, in no particular order.
func (r *Records[T, K]) PutMulti(ctx context.Context, vs []*T) error {
	ctx, end := r.m.db.Begin(ctx, "PutMulti")
	defer end()
	given, without := make([]T, len(vs)), make([]error, len(vs))
	for i, v := range vs {
		_, without[i] = r.giveID(v)
		given[i] = *v
	}
	id := func(i int) string { return r.text(vs[i]) }
	errs := r.m.several(ctx, len(vs), id, func(ctx context.Context, s kv.Store, i int, rest *rest) error {
		if without[i] != nil {
			return without[i]
		}
		*vs[i] = given[i] // an earlier try may have changed it
		return r.put(ctx, s, r.text(vs[i]), vs[i], rest)
	})
	for i, err := range errs {
		if err != nil {
			*vs[i] = given[i]
		}
	}
	return itemErrors(errs)
}

// UpdateMulti is Update for many records with one f, in no particular order. It returns the updated
// records, nil for failures. f may be called concurrently.
func (r *Records[T, K]) UpdateMulti(ctx context.Context, ids []K, f func(*T) error) ([]*T, error) {
	ctx, end := r.m.db.Begin(ctx, "UpdateMulti")
	defer end()
	vs := make([]*T, len(ids))
	id := func(i int) string { return r.schema.Key.Text(ids[i]) }
	errs := r.m.several(ctx, len(ids), id, func(ctx context.Context, s kv.Store, i int, rest *rest) error {
		if r.schema.Key.Empty(ids[i]) {
			return r.m.emptyID()
		}
		e := r.alter(ids[i], f, false)
		e.rest = rest
		v, err := r.m.editAt(ctx, s, e)
		vs[i] = plug.As[T](v)
		return err
	})
	return vs, itemErrors(errs)
}

// DeleteMulti is Delete for many records, in no particular order.
func (r *Records[T, K]) DeleteMulti(ctx context.Context, ids []K) error {
	ctx, end := r.m.db.Begin(ctx, "DeleteMulti")
	defer end()
	id := func(i int) string { return r.schema.Key.Text(ids[i]) }
	return itemErrors(r.m.several(ctx, len(ids), id, func(ctx context.Context, s kv.Store, i int, rest *rest) error {
		if r.schema.Key.Empty(ids[i]) {
			return r.m.failure(id(i), kv.ErrNotFound)
		}
		return r.m.remove(ctx, s, id(i), nil, rest)
	}))
}

// Items returns the index and the error of each failed item in a call for many.
func Items(err error) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) { eachItem(err, yield) }
}

// eachItem yields the ItemErrors in err, and reports whether to continue.
func eachItem(err error, yield func(int, error) bool) bool {
	switch e := err.(type) {
	case *ItemError:
		return yield(e.Index, e.Err)
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !eachItem(err, yield) })
	case interface{ Unwrap() error }:
		return eachItem(e.Unwrap(), yield)
	}
	return true
}

// itemErrors joins errs, one for each item, as ItemErrors.
func itemErrors(errs []error) error {
	var all []error
	for i, err := range errs {
		if err != nil {
			all = append(all, &ItemError{i, err})
		}
	}
	return kv.Join(all...)
}

// several changes n records with work, each in its turn, if id returns the texts of their ids. Ids
// may repeat.
func (m *model) several(ctx context.Context, n int, id func(i int) string, work makes) []error {
	if m.db.atomic != nil {
		return m.severalTogether(ctx, n, id, work)
	}
	errs := make([]error, n)
	batches := slices.Collect(batchesOf(n, id, func() int { return changedAtOnce }))
	sideBySide(batchesAtOnce, len(batches), func(b int) {
		batch, rest := batches[b], new(rest)
		for k, err := range m.inTurns(ctx, batch, id, func() []error {
			return kv.Each(ctx, m.db.store, batch, func(s kv.Store, _, i int) error { return work(ctx, s, i, rest) })
		}) {
			errs[batch[k]] = err
		}
		m.finish(ctx, rest)
	})
	return errs
}

// batchesOf yields 0 to n-1 in batches of at most size, without repeated ids within a batch.
func batchesOf(n int, id func(i int) string, size func() int) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		var again []int
		for next := 0; next < n || len(again) > 0; {
			most := size()
			batch, taken := make([]int, 0, min(n, most)), make(map[string]bool)
			some := again
			for again = nil; next < n && len(some) < most; next++ {
				some = append(some, next)
			}
			for _, i := range some {
				if id != nil && taken[id(i)] || len(batch) == most {
					again = append(again, i)
					continue
				}
				if batch = append(batch, i); id != nil {
					taken[id(i)] = true
				}
			}
			if !yield(batch) {
				return
			}
		}
	}
}

// inTurns runs f, which returns an error for each of batch, while no other change of these records
// runs in this process. All callers take turns in the same order, so two never wait for each other.
func (m *model) inTurns(ctx context.Context, batch []int, id func(i int) string, f func() []error) []error {
	if id == nil {
		return f()
	}
	ids := kv.Texts(batch, id)
	slices.Sort(ids)
	for _, id := range ids {
		leave, err := m.db.turns.Take(ctx, m.key(id))
		if err != nil {
			return slices.Repeat([]error{m.failure(id, err)}, len(batch))
		}
		defer leave()
	}
	return f()
}

// sideBySide calls work for 0 to n-1, at most most at a time. If one panics, sideBySide panics once
// the others have ended, since its caller may recover.
func sideBySide(most, n int, work func(i int)) {
	var next atomic.Int64
	var wait sync.WaitGroup
	panics := make(chan any, n)
	for range min(most, n) {
		wait.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					panics <- p
				}
			}()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	wait.Wait()
	if len(panics) > 0 {
		panic(<-panics)
	}
}
