package kvmodel

import (
	"context"

	"github.com/ringtree/ringtree/internal/plug"
)

// Change names a changed record.
type Change[T any, K comparable] struct {
	ID      K
	Created bool // by this change, as far as is known
	Record  *T   // current, perhaps newer than the change; nil: deleted
}

// OnChange calls f after the reply to every change of a record: at least once, even after a crash,
// but perhaps more than once, and with a record that has changed again. So f should check before it
// acts.
//
// A process does not call it concurrently for two changes of the same record.
//
// If f returns an error, panics, or takes longer than ten seconds, it is tried three times, then
// every 15 seconds for a day; after a crash, by the process that repairs. While very many calls
// hang, no more are made. Call OnChange at start-up, before the first write, in every process with
// the model. Calls that a dead process still owed are made by a process that has called OnChange,
// for a day.
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
		ctx, end := r.m.Db.BeginAnew(ctx, Work{Model: r.m.Name, Verb: "OnChange"})
		defer end()
		return f(ctx, Change[T, K]{ID: key, Created: created, Record: plug.As[T](rec.Value)})
	})
	r.m.in.knowsMore()
}
