package kvmodel

import (
	"context"
	"iter"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/write"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// CreateMulti is Create for many records, in no particular order. Numbers are assigned in the order
// of vs.
func (r *Records[T, K]) CreateMulti(ctx context.Context, vs []*T) error {
	ctx, end := r.m.Db.Begin(ctx, "CreateMulti")
	defer end()
	if r.m.Numbers == nil {
		return itemErrors(write.Several(ctx, r.m.Model, len(vs), nil, func(ctx context.Context, s kv.Store, i int, rest *write.Rest) error {
			return r.create(ctx, s, vs[i], rest)
		}))
	}
	if r.m.Db.Atomic != nil {
		return itemErrors(write.SeveralNext(ctx, r.m.Model, len(vs), func(i int) write.Numbered { return r.numbered(vs[i]) }))
	}
	errs := make([]error, len(vs))
	for i, v := range vs {
		errs[i] = r.Create(ctx, v)
	}
	return itemErrors(errs)
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

// UpdateMulti is Update for many records with one f, in no particular order. It returns the updated
// records, nil for failures. f may be called concurrently.
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
