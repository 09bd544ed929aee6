package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Create stores v as a new record. If v has no id and ids are texts, it gets a new
// one. If ids are given in order, v must have none and gets the next number.
// ErrExists if there is a record with that id; a *TakenError if another record
// holds one of v's unique values; ErrInvalid, also of an error of v's method Validate, if
// it has one, which is asked first and may change v. v's id and the fields that the data
// class fills in are set when Create returns.
func (r *Records[T, K]) Create(ctx context.Context, v *T) error {
	ctx, end := r.m.db.Begin(ctx, "Create")
	defer end()
	ctx, cancel := r.m.db.Patient(ctx)
	defer cancel()
	return r.create(ctx, r.m.db.store, v, nil)
}

func (r *Records[T, K]) create(ctx context.Context, s kv.Store, v *T, rest *rest[T]) error {
	if r.m.numbers != nil {
		return r.createNext(ctx, s, v)
	}
	given, err := r.giveID(v)
	if err != nil {
		return err
	}
	_, err = r.m.change(ctx, s, edit[T]{
		id:    r.text(v),
		fresh: true,
		peek:  given,
		made:  !given,
		rest:  rest,
		apply: func(old *T) (*T, error) {
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
		return false, fmt.Errorf("%s: %w: the id or a part of it is empty", r.m.name, ErrInvalid)
	}
	r.schema.SetID(v, r.schema.Key.New())
	return false, nil
}

// Put stores v, making the record or replacing it. If the model has a version
// field, v's must be that of the record, or 0 if there is none; otherwise the error
// is an ErrConflict. A damaged record is an ErrCorrupt and stays as it is until it is
// deleted. The other errors are those of Create.
func (r *Records[T, K]) Put(ctx context.Context, v *T) error {
	ctx, end := r.m.db.Begin(ctx, "Put")
	defer end()
	if _, err := r.giveID(v); err != nil {
		return err
	}
	ctx, cancel := r.m.db.Patient(ctx)
	defer cancel()
	return r.m.inTurn(ctx, r.text(v), func(id string) error { return r.put(ctx, r.m.db.store, id, v, nil) })
}

func (r *Records[T, K]) put(ctx context.Context, s kv.Store, id string, v *T, rest *rest[T]) error {
	given := *v
	expected := value(at(r.schema.Revision, v))
	_, err := r.m.change(ctx, s, edit[T]{id: id, rest: rest, apply: func(old *T) (*T, error) {
		if r.schema.Revision != nil && expected != r.revision(old) {
			return nil, fmt.Errorf("%w: it is at version %d, not %d", kv.ErrConflict, r.revision(old), expected)
		}
		return v, nil
	}})
	if err != nil {
		// With the new version in v, a second Put would overwrite the
		// change that this one lost to.
		*v = given
	}
	return err
}

func (r *Records[T, K]) revision(v *T) int64 {
	if v == nil {
		return 0
	}
	return value(r.schema.Revision(v))
}

// Update changes the record with id by f and returns what it has become. f may be
// called again with a newer record when others change it at the same time, so it
// should do nothing else. If f returns an error, Update writes nothing and returns
// that error unchanged. If f changes nothing, nothing is written. ErrNotFound if
// there is no record. f must not change the id.
func (r *Records[T, K]) Update(ctx context.Context, id K, f func(*T) error) (*T, error) {
	ctx, end := r.m.db.Begin(ctx, "Update")
	defer end()
	return r.edit(ctx, id, f, func() (*T, error) { return nil, kv.ErrNotFound })
}

// Upsert is Update, but if there is no record, f gets an empty one with its id, and
// the record is made.
func (r *Records[T, K]) Upsert(ctx context.Context, id K, f func(*T) error) (*T, error) {
	ctx, end := r.m.db.Begin(ctx, "Upsert")
	defer end()
	return r.edit(ctx, id, f, func() (*T, error) {
		v := new(T)
		r.schema.SetID(v, id)
		return v, nil
	})
}

// edit changes the record with id by f. Where there is none, f gets what
// absent returns.
func (r *Records[T, K]) edit(ctx context.Context, id K, f func(*T) error, absent func() (*T, error)) (v *T, err error) {
	if r.schema.Key.Empty(id) {
		return nil, fmt.Errorf("%s: %w: the id or a part of it is empty", r.m.name, ErrInvalid)
	}
	ctx, cancel := r.m.db.Patient(ctx)
	defer cancel()
	err = r.m.inTurn(ctx, r.schema.Key.Text(id), func(string) error {
		v, err = r.editAt(ctx, r.m.db.store, id, f, absent, nil)
		return err
	})
	return v, err
}

// editAt is edit on s, in the record's turn.
func (r *Records[T, K]) editAt(ctx context.Context, s kv.Store, id K, f func(*T) error, absent func() (*T, error), rest *rest[T]) (*T, error) {
	v, err := r.m.change(ctx, s, edit[T]{id: r.schema.Key.Text(id), rest: rest, apply: func(old *T) (_ *T, err error) {
		if old == nil {
			if old, err = absent(); err != nil {
				return nil, err
			}
		}
		return old, r.call(f, old, id)
	}})
	var own *ownError
	if errors.As(err, &own) {
		err = own.error
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// call calls f on v, which must keep its id.
func (r *Records[T, K]) call(f func(*T) error, v *T, id K) error {
	if err := f(v); err != nil {
		return &ownError{err}
	}
	if r.schema.ID(v) != id {
		return fmt.Errorf("%w: an update must not change the id", ErrInvalid)
	}
	return nil
}

// ownError is an error of the caller's func, to be returned unchanged. A change does
// not look at what it wraps.
type ownError struct{ error }

// Touch makes the record with id live until the given time, or returns ErrNotFound. That
// is a change for OnChange, but not for the fields that the data class fills in: the version
// and the time of the last change stay as they are. ErrInvalid if the time is past or too
// far ahead; ErrBadOp if the records of the model do not expire.
func (r *Records[T, K]) Touch(ctx context.Context, id K, until time.Time) error {
	text := r.schema.Key.Text(id)
	if err := r.m.db.Writable(); err != nil {
		return r.m.failure(text, err)
	}
	if r.schema.Expires == nil {
		return fmt.Errorf("%s: %w: its records do not expire", r.m.name, kv.ErrBadOp)
	}
	if err := r.m.checkExpiry(until); err != nil {
		return r.m.failure(text, err)
	}
	if r.schema.Key.Empty(id) {
		return r.m.failure(text, kv.ErrNotFound)
	}
	ctx, end := r.m.db.Begin(ctx, "Touch")
	defer end()
	ctx, cancel := r.m.db.Patient(ctx)
	defer cancel()
	return r.m.inTurn(ctx, text, func(string) error { return r.touch(ctx, text, until) })
}

func (r *Records[T, K]) touch(ctx context.Context, id string, until time.Time) error {
	_, err := r.m.change(ctx, r.m.db.store, edit[T]{id: id, touches: true, apply: func(old *T) (*T, error) {
		if old == nil {
			return nil, kv.ErrNotFound
		}
		*r.schema.Expires(old) = until
		return old, nil
	}})
	return err
}

// Delete removes the record with id and its index entries, or returns ErrNotFound.
// The id can then be used again. Of a damaged record, whose values are not known, it
// leaves the entries to the readers that meet them and the claims to Rebuild.
//
// What belongs to the record, by list,with= in its model, is deleted after the reply.
func (r *Records[T, K]) Delete(ctx context.Context, id K) error {
	ctx, end := r.m.db.Begin(ctx, "Delete")
	defer end()
	if r.schema.Key.Empty(id) {
		return r.m.failure(r.schema.Key.Text(id), kv.ErrNotFound)
	}
	ctx, cancel := r.m.db.Patient(ctx)
	defer cancel()
	return r.m.inTurn(ctx, r.schema.Key.Text(id), func(id string) error { return r.m.remove(ctx, r.m.db.store, id, nil) })
}

// remove deletes the record id, if only, unless it is nil, says so.
func (m *model[T]) remove(ctx context.Context, s kv.Store, id string, only func(*plug.Seen[T]) bool) error {
	_, err := m.change(ctx, s, edit[T]{id: id, removes: true, only: only, apply: func(*T) (*T, error) { return nil, nil }})
	return err
}

// inTurn runs f while no other change of the same record runs in this process.
func (m *model[T]) inTurn(ctx context.Context, id string, f func(id string) error) error {
	leave, err := m.db.turns.Take(ctx, m.key(id))
	if err != nil {
		return m.failure(id, err)
	}
	defer leave()
	return f(id)
}
