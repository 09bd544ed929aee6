package kvmodel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/write"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// CreateMulti is Create for many records, in no particular order. Numbers are assigned in the order
// of vs. If the store fails for a whole batch of 500, the call does not try the other batches. So on
// a store that hangs it ends after a few times the store's patience, or when ctx does.
func (r *Records[T, K]) CreateMulti(ctx context.Context, vs []*T) error {
	ctx, end := r.m.Db.Begin(ctx, "CreateMulti")
	defer end()
	if r.m.Db.Atomic == nil { // each create looks in its first trip
		return r.createMulti(ctx, write.Usual, vs, make([]bool, len(vs)))
	}
	absent, _ := r.absent(ctx, vs) // each create finds the same error
	return r.createMulti(ctx, write.Usual, vs, absent)
}

// createMulti takes the records for absent that are so marked.
func (r *Records[T, K]) createMulti(ctx context.Context, by write.Batches, vs []*T, absent []bool) error {
	ctx, end := r.m.Db.Begin(ctx, "CreateMulti")
	defer end()
	if r.m.Numbers == nil {
		return itemErrors(write.SeveralBy(ctx, r.m.Model, by, len(vs), nil, func(ctx context.Context, s kv.Store, i int, rest *write.Rest) error {
			return r.create(ctx, s, vs[i], rest, rest != nil && absent[i])
		}))
	}
	if r.m.Db.Atomic != nil {
		return itemErrors(write.SeveralNext(ctx, r.m.Model, len(vs), func(i int) write.Numbered { return r.numbered(vs[i]) }))
	}
	errs, down := make([]error, len(vs)), error(nil)
	for i, v := range vs {
		if down != nil {
			errs[i] = write.Untried(ctx, r.m.Model, down)
		} else if errs[i] = r.Create(ctx, v); kv.Failed(errs[i]) {
			down = errs[i]
		}
	}
	return itemErrors(errs)
}

// absent reports which of vs have ids without a record, as far as one trip tells.
func (r *Records[T, K]) absent(ctx context.Context, vs []*T) (absent []bool, err error) {
	absent = make([]bool, len(vs))
	if r.m.Numbers != nil {
		return absent, nil
	}
	ctx, end := r.m.Db.Begin(ctx, "GetMulti")
	defer end()
	var ids []string
	var of []int
	for i, v := range vs {
		if !r.schema.Key.Empty(r.schema.ID(v)) {
			ids, of = append(ids, r.text(v)), append(of, i)
		}
	}
	found, err := kv.GetEach(ctx, kv.Sparse(r.m.Db.Store), r.m.Decoder, r.m.Keys[:1], ids)
	for k := range found {
		absent[of[k]] = errors.Is(found[k].Err, kv.ErrNotFound)
	}
	return absent, err
}

// PutMulti is Put for many records, in no particular order.
func (r *Records[T, K]) PutMulti(ctx context.Context, vs []*T) error {
	ctx, end := r.m.Db.Begin(ctx, "PutMulti")
	defer end()
	given, without := make([]T, len(vs)), make([]error, len(vs))
	for i, v := range vs {
		_, without[i] = r.giveID(v)
		given[i] = *v
	}
	id := func(i int) string { return r.text(vs[i]) }
	errs := write.Several(ctx, r.m.Model, len(vs), id, func(ctx context.Context, s kv.Store, i int, rest *write.Rest) error {
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

// UpdateMulti is Update for many records with one f, which may be called concurrently. It returns
// the updated records, nil for failures.
func (r *Records[T, K]) UpdateMulti(ctx context.Context, ids []K, f func(*T) error) ([]*T, error) {
	ctx, end := r.m.Db.Begin(ctx, "UpdateMulti")
	defer end()
	vs := make([]*T, len(ids))
	id := func(i int) string { return r.schema.Key.Text(ids[i]) }
	errs := write.Several(ctx, r.m.Model, len(ids), id, func(ctx context.Context, s kv.Store, i int, rest *write.Rest) error {
		if r.schema.Key.Empty(ids[i]) {
			return r.m.EmptyID()
		}
		e := r.alter(ids[i], f, false)
		e.Rest = rest
		v, err := write.EditAt(ctx, r.m.Model, s, e)
		vs[i] = plug.As[T](v)
		return err
	})
	return vs, itemErrors(errs)
}

// DeleteMulti is Delete for many records, in no particular order.
func (r *Records[T, K]) DeleteMulti(ctx context.Context, ids []K) error {
	ctx, end := r.m.Db.Begin(ctx, "DeleteMulti")
	defer end()
	id := func(i int) string { return r.schema.Key.Text(ids[i]) }
	return itemErrors(write.Several(ctx, r.m.Model, len(ids), id, func(ctx context.Context, s kv.Store, i int, rest *write.Rest) error {
		if r.schema.Key.Empty(ids[i]) {
			return r.m.Failure(id(i), kv.ErrNotFound)
		}
		return write.Remove(ctx, r.m.Model, s, id(i), nil, rest)
	}))
}

// Items returns the index and the error of each failed item in a call for many.
func Items(err error) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) { eachItem(err, yield) }
}

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

func itemErrors(errs []error) error {
	var all []error
	for i, err := range errs {
		if err != nil {
			all = append(all, &ItemError{i, err})
		}
	}
	return kv.Join(all...)
}

// LoadOptions configure [Records.Load].
type LoadOptions struct {
	PerSecond int         // maximum number of records stored per second; 0: no limit
	Progress  func(n int) // if not nil, called after each batch with the number of records done

	// Failed is called for each record that was not stored, with its position in the sequence; nil:
	// Load ends after the batch.
	Failed func(i int, err error)
}

const loadedAtOnce = 1000

// Load stores new records, in batches of up to 1,000 as CreateMulti does, and returns the number
// done. It ends after the batch if a record fails, all yields an error or ctx ends. The error joins
// an *ItemError for each failed record, with its position in all.
//
// A record already stored with the same values counts as done, so records with ids can be loaded
// again after an early end. If ids are assigned in order, continue after the first n records.
func (r *Records[T, K]) Load(ctx context.Context, all iter.Seq2[*T, error], o LoadOptions) (n int, err error) {
	l := &loading[T, K]{records: r, options: o, began: time.Now()}
	batch := make([]*T, 0, loadedAtOnce)
	for v, failed := range all {
		if failed != nil {
			err = fmt.Errorf("%s: record %d of those to load: %w", r.m.Name, l.done+len(batch), failed)
			break
		}
		if batch = append(batch, v); len(batch) < loadedAtOnce {
			continue
		}
		if err = l.store(ctx, batch); err != nil {
			return l.done, err
		}
		batch = batch[:0]
	}
	err = errors.Join(l.store(ctx, batch), err)
	return l.done, err
}

type loading[T any, K comparable] struct {
	records *Records[T, K] // not embedded: each T would get its many methods twice more
	options LoadOptions
	began   time.Time
	done    int
}

func (l *loading[T, K]) store(ctx context.Context, batch []*T) error {
	if err := kv.Ended(ctx); err != nil {
		return err
	}
	fresh, of, absent, err := l.missing(ctx, batch)
	if err != nil {
		return err
	}
	var failed []error
	for i, err := range Items(l.records.createMulti(ctx, write.Loading, fresh, absent)) {
		at := l.done + of[i]
		if l.options.Failed != nil && kv.Ended(ctx) == nil {
			l.options.Failed(at, err)
			continue
		}
		failed = append(failed, &ItemError{at, err})
	}
	if len(failed) > 0 {
		return kv.Join(failed...)
	}
	l.done += len(batch)
	if l.options.Progress != nil {
		l.options.Progress(l.done)
	}
	return l.wait(ctx)
}

func (l *loading[T, K]) wait(ctx context.Context) error {
	if l.options.PerSecond <= 0 {
		return nil
	}
	due := l.began.Add(time.Duration(float64(l.done) / float64(l.options.PerSecond) * float64(time.Second)))
	if wait := time.Until(due); wait > 0 && !kv.Sleep(ctx, wait) {
		return kv.TooLate(ctx)
	}
	return nil
}

// missing returns the records of batch that are not stored, their positions, and which of them
// absent found.
func (l *loading[T, K]) missing(ctx context.Context, batch []*T) (fresh []*T, of []int, absent []bool, err error) {
	gone, err := l.records.absent(ctx, batch)
	if err != nil {
		return nil, nil, nil, err
	}
	var asked []*T
	for i, v := range batch {
		if !gone[i] {
			asked = append(asked, v)
		}
	}
	stored, err := Load(ctx, l.records, asked, l.records.schema.ID)
	if stored == nil && err != nil {
		return nil, nil, nil, err
	}
	for i, v := range batch {
		if has := stored[l.records.schema.ID(v)]; has == nil || !l.same(v, has) {
			fresh, of, absent = append(fresh, v), append(of, i), append(absent, gone[i])
		}
	}
	return fresh, of, absent, nil
}

func (l *loading[T, K]) same(v, stored *T) bool {
	w := *v
	is, has := l.records.m.Schema(&w), l.records.m.Schema(stored)
	if is.Created != nil && is.Created.IsZero() {
		*is.Created = *has.Created
	}
	core.Set(is.Updated, core.Value(has.Updated))
	core.Set(is.Revision, core.Value(has.Revision))
	a, err := l.records.m.Codec.Append(nil, &w)
	b, otherErr := l.records.m.Codec.Append(nil, stored)
	return err == nil && otherErr == nil && bytes.Equal(a, b)
}
