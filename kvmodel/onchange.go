package kvmodel

import (
	"context"

	"github.com/ringtree/ringtree/internal/plug"
)

// Change says which record has changed.
type Change[T any, K comparable] struct {
	ID      K
	Created bool // by this change, as far as is known
	Record  *T   // as it is now, which may be newer; nil: deleted
}

// OnChange calls f after every change of a record, once the change has been
// replied to: at least once, even after a crash, but perhaps more than once and
// with a record that has changed again. So f should look before it acts.
//
// It is not called for two changes of one record at a time by one process.
//
// If f returns an error or panics, it is tried three times, and then again every 15
// seconds for a day; after a crash, by the process that repairs. The same holds if
// f takes longer than ten seconds. While very many calls hang, no more are made.
// Call OnChange at start-up, before the first write, in every process that has the
// model. What a process that died has not called is left to one that has called
// OnChange, for a day.
func (r *Records[T, K]) OnChange(f func(context.Context, Change[T, K]) error) {
	r.m.handlers.Add(func(ctx context.Context, id string, created bool) error {
		key, err := r.schema.Key.Parse(id)
		if err != nil {
			return err
		}
		rec, err := r.m.readable(ctx, r.m.db.store, id)
		if err != nil {
			return err
		}
		ctx, end := r.m.db.beginAnew(ctx, Work{Model: r.m.name, Verb: "OnChange"})
		defer end()
		return f(ctx, Change[T, K]{ID: key, Created: created, Record: plug.As[T](rec.Value)})
	})
	r.m.db.knowsMore()
}
