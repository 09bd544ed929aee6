package kvmodel

import (
	"context"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/write"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Create stores v as a new record and sets its id and the maintained fields. Without an id it gets
// a new one; if ids are assigned in order it must have none. If v has a method Validate, Create
// calls it first; it may change v. ErrExists: the id exists; *TakenError: another record holds a
// unique value; ErrInvalid: v is not valid.
func (r *Records[T, K]) Create(ctx context.Context, v *T) error {
	ctx, end := r.m.Db.Begin(ctx, "Create")
	defer end()
	ctx, cancel := r.m.Db.Patient(ctx)
	defer cancel()
	return r.create(ctx, r.m.Db.Store, v, nil, false)
}

// create creates v. absent: no record was found under its id.
func (r *Records[T, K]) create(ctx context.Context, s kv.Store, v *T, rest *write.Rest, absent bool) error {
	if r.m.Numbers != nil {
		return write.CreateNext(ctx, r.m.Model, s, r.numbered(v))
	}
	given, err := r.giveID(v)
	if err != nil {
		return err
	}
	// Do not begin a transaction for a record that exists.
	together := rest != nil && r.m.Db.Atomic != nil
	_, err = write.Change(ctx, r.m.Model, s, write.Edit{
		ID:    r.text(v),
		Fresh: !together || !given || absent,
		Peek:  given && !together && !absent,
		Made:  !given,
		Rest:  rest,
		Apply: func(old plug.Record) (plug.Record, error) {
			if old != nil {
				return nil, kv.ErrExists
			}
			return v, nil
		},
	})
	return err
}

// giveID gives v a new id if it has none. It reports whether v had one.
func (r *Records[T, K]) giveID(v *T) (given bool, err error) {
	id := r.schema.ID(v)
	if !r.schema.Key.Empty(id) {
		return true, nil
	}
	if r.schema.Key.New == nil {
		return false, r.m.EmptyID()
	}
	r.schema.SetID(v, r.schema.Key.New())
	return false, nil
}

// Put creates or replaces the record v. If the model has a version field, v must have the record's
// version, or 0 if there is none, or it is an ErrConflict. A damaged record is an ErrCorrupt and
// stays until it is deleted. Other errors are those of Create.
func (r *Records[T, K]) Put(ctx context.Context, v *T) error {
	ctx, end := r.m.Db.Begin(ctx, "Put")
	defer end()
	if _, err := r.giveID(v); err != nil {
		return err
	}
	ctx, cancel := r.m.Db.Patient(ctx)
	defer cancel()
	return r.m.InTurn(ctx, r.text(v), func(id string) error { return r.put(ctx, r.m.Db.Store, id, v, nil) })
}

func (r *Records[T, K]) put(ctx context.Context, s kv.Store, id string, v *T, rest *write.Rest) error {
	given := *v
	expected := r.revision(v)
	_, err := write.Change(ctx, r.m.Model, s, write.Edit{ID: id, Rest: rest, Apply: func(old plug.Record) (plug.Record, error) {
		if is := r.revision(plug.As[T](old)); r.schema.Revision != nil && expected != is {
			return nil, fmt.Errorf("%w: it is at version %d, not %d", kv.ErrConflict, is, expected)
		}
		return v, nil
	}})
	if err != nil {
		// With the new version in v, a second Put would overwrite the change that this one lost to.
		*v = given
	}
	return err
}

func (r *Records[T, K]) revision(v *T) int64 {
	if v == nil {
		return 0
	}
	return core.Value(at(r.schema.Revision, v))
}

// Update changes the record with id by f and returns the result. f may be called again with a newer
// record, so it should do nothing else; in particular it must not change the same record by another
// verb, which would wait for this one. f must not change the id. If f changes nothing, nothing is
// written. An error of f is returned unchanged. ErrNotFound if there is no record.
func (r *Records[T, K]) Update(ctx context.Context, id K, f func(*T) error) (*T, error) {
	return r.edit(ctx, "Update", id, r.alter(id, f, false))
}

// Upsert is Update, but if there is no record, f gets an empty one with its id and Upsert creates
// it.
func (r *Records[T, K]) Upsert(ctx context.Context, id K, f func(*T) error) (*T, error) {
	return r.edit(ctx, "Upsert", id, r.alter(id, f, true))
}

// alter returns the edit that changes the record with id by f. If there is none and orNew is set, f
// gets a new one.
func (r *Records[T, K]) alter(id K, f func(*T) error, orNew bool) write.Edit {
	return write.Edit{ID: r.schema.Key.Text(id), Apply: func(old plug.Record) (plug.Record, error) {
		v := plug.As[T](old)
		if v == nil && !orNew {
			return nil, kv.ErrNotFound
		}
		if v == nil {
			v = new(T)
			r.schema.SetID(v, id)
		}
		return v, r.call(f, v, id)
	}}
}

func (r *Records[T, K]) edit(ctx context.Context, verb string, id K, e write.Edit) (*T, error) {
	v, err := write.EditInTurn(ctx, r.m.Model, verb, r.schema.Key.Empty(id), e)
	return plug.As[T](v), err
}

func (r *Records[T, K]) call(f func(*T) error, v *T, id K) error {
	if err := f(v); err != nil {
		return write.Own(err)
	}
	if r.schema.ID(v) != id {
		return fmt.Errorf("%w: an update must not change the id", ErrInvalid)
	}
	return nil
}

// Touch sets the expiry of the record with id. OnChange is called, but the version and the time of
// the last change stay. ErrInvalid if until is past or too far ahead; ErrBadOp if the model's
// records do not expire; ErrNotFound.
func (r *Records[T, K]) Touch(ctx context.Context, id K, until time.Time) error {
	return write.Touch(ctx, r.m.Model, r.schema.Key.Text(id), r.schema.Key.Empty(id), until)
}

// Delete removes the record with id and its index entries, or returns ErrNotFound. The id can be
// used again. Records that belong to it by list,with= are deleted after the reply. The values of a
// damaged record are unknown: readers remove its entries as they find them, and Rebuild its claims.
func (r *Records[T, K]) Delete(ctx context.Context, id K) error {
	return write.Delete(ctx, r.m.Model, r.schema.Key.Text(id), r.schema.Key.Empty(id))
}

// Change names a changed record.
type Change[T any, K comparable] struct {
	ID      K
	Created bool // by this change, as far as is known
	Record  *T   // current, perhaps newer than the change; nil: deleted
}

// OnChange calls f after the reply to every change of a record: at least once, even after a crash,
// perhaps with a newer record, but never concurrently in this process for one record. If f fails or
// takes longer than ten seconds, it is tried three times, then every 15 seconds for a day. Calls
// that a dead process owed are made by a process that has called OnChange. Call it at start-up, in
// every process with the model.
func (r *Records[T, K]) OnChange(f func(context.Context, Change[T, K]) error) {
	r.m.Handlers.Add(func(ctx context.Context, id string, created bool) error {
		key, err := r.schema.Key.Parse(id)
		if err != nil {
			return err
		}
		rec, err := r.m.Readable(ctx, r.m.Db.Store, id)
		if err != nil {
			return err
		}
		ctx, end := r.m.Db.BeginAnew(ctx, kv.Work{Model: r.m.Name, Verb: "OnChange"})
		defer end()
		return f(ctx, Change[T, K]{ID: key, Created: created, Record: plug.As[T](rec.Value)})
	})
	r.m.in.knowsMore()
}
