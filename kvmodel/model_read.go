package kvmodel

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// upgrader is a model that brings records of older versions up to date.
type upgrader interface{ Upgrade(from int) error }

// see reads records in one trip. Each id has its Seen. The error is not nil if
// some could not be asked for, or with an ErrCorrupt if some are damaged: then each id
// has its Seen all the same.
func (m *model[T]) see(ctx context.Context, s kv.Store, ids []string) ([]*plug.Seen[T], error) {
	keys := make([]string, len(ids))
	for i, id := range ids {
		keys[i] = m.key(id)
	}
	results, err := kv.GetAll(ctx, s, m.withCounters(keys, ids)...)
	if err != nil {
		return nil, err
	}
	recs := make([]*plug.Seen[T], len(ids))
	counts := results[len(ids):]
	each := len(counts) / max(len(ids), 1)
	var damaged []error
	for i, r := range results[:len(ids)] {
		if recs[i], err = m.decode(ids[i], r); err == nil {
			err = m.fillCounters(recs[i], counts[i*each:(i+1)*each])
		}
		if err != nil && !wire.IsCorrupt(err) {
			return nil, err
		}
		if err != nil {
			recs[i].Err, damaged = err, append(damaged, err)
		}
	}
	return recs, joined(damaged)
}

// joined returns the one error of errs as it is, and more of them as one.
func joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

func (m *model[T]) seeOne(ctx context.Context, s kv.Store, id string) (*plug.Seen[T], error) {
	recs, err := m.see(ctx, s, []string{id})
	if len(recs) == 0 {
		return nil, err
	}
	return recs[0], err
}

// look reads a record for a user, and keeps it for an update that may follow.
func (m *model[T]) look(ctx context.Context, id string) (*plug.Seen[T], error) {
	results, err := kv.GetAll(ctx, m.db.store, m.withCounters([]string{m.key(id)}, []string{id})...)
	if err != nil {
		return nil, err
	}
	m.db.recent.Keep(m.key(id), results, m.db.now())
	return m.decodeCounted(id, results)
}

// values reads records for a user; nil where there is none, or with an ErrCorrupt where
// it is damaged.
func (m *model[T]) values(ctx context.Context, ids []string) ([]*T, error) {
	recs, err := m.see(ctx, m.db.store, ids)
	if recs == nil {
		return nil, err
	}
	values := make([]*T, len(recs))
	for i, rec := range recs {
		values[i] = rec.Value
	}
	return values, err
}

// decode returns what a get of id's record answered. One that is damaged has nothing but
// its version, and a rev above all that it may have had.
func (m *model[T]) decode(id string, r kv.Result) (*plug.Seen[T], error) {
	if errors.Is(r.Err, kv.ErrNotFound) {
		return &plug.Seen[T]{ID: id}, nil
	}
	if r.Err != nil {
		return nil, m.failure(id, r.Err)
	}
	env, err := envelope.Decode(r.Value)
	if err != nil {
		return m.damaged(id, r, err)
	}
	rec := &plug.Seen[T]{ID: id, Rev: env.Rev, Version: r.Version, Envelope: env}
	if env.Deleted {
		return rec, nil
	}
	rec.Value, err = m.decodeBody(env.Model, env.Body)
	if env.Expires != 0 && env.HasEnded(m.db.now()) {
		m.end(rec)
		return rec, nil
	}
	if wire.IsCorrupt(err) {
		return m.damaged(id, r, err)
	}
	return rec, m.failure(id, err)
}

// end makes rec, which has expired, what it would be if it had been deleted.
func (m *model[T]) end(rec *plug.Seen[T]) {
	env := &envelope.Envelope{Model: rec.Envelope.Model, Rev: rec.Rev, Deleted: true, Tries: rec.Envelope.Tries}
	for _, index := range m.indexes {
		if places := places(index, rec.Value); len(places) > 0 {
			env.Lost = append(env.Lost, envelope.Touched{Index: index.Name(), Places: places})
		}
	}
	rec.Envelope, rec.Value = env, nil
}

// unreadAhead is how far above the clock the rev of a record is taken to be that is damaged
// or lost: a record begins with the milliseconds of a clock, and each change adds one.
const unreadAhead = 24 * time.Hour

// revAbove returns a rev above all that a record may have had.
func (m *model[T]) revAbove() uint64 { return uint64(m.db.now().Add(unreadAhead).UnixMilli()) }

// damaged returns the record id, of which err says that it cannot be read, and an
// ErrCorrupt.
func (m *model[T]) damaged(id string, r kv.Result, err error) (*plug.Seen[T], error) {
	rec := &plug.Seen[T]{ID: id, Rev: m.revAbove(), Version: r.Version}
	rec.Err = m.failure(id, wire.Corrupt(m.key(id), err))
	return rec, rec.Err
}

// decodeBody returns the record in a body that the given version of the model has
// written.
func (m *model[T]) decodeBody(version int, body []byte) (*T, error) {
	v := new(T)
	if _, err := m.codec.Unmarshal(body, v); errors.Is(err, ErrCorrupt) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if up, ok := any(v).(upgrader); ok && version < m.version {
		if err := up.Upgrade(version); err != nil {
			return nil, fmt.Errorf("upgrade from version %d: %w", version, err)
		}
	}
	if at := m.schema(v).revision; at != nil && *at == 0 {
		*at = 1
	}
	return v, nil
}

// as fills in what index sees of rec.
func (m *model[T]) as(rec *plug.Seen[T], index plug.Index[T]) {
	rec.Places, rec.Mark = nil, rec.Envelope.Mark(index.Name())
	if rec.Value != nil {
		rec.Places = index.Places(rec.Value)
	}
}
