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
func (m *model) see(ctx context.Context, s kv.Store, ids []string) ([]*plug.Seen, error) {
	return m.seeIn(ctx, s, m.keys, ids)
}

// seeIn is see of families, which are all, or the first alone: then without counters.
func (m *model) seeIn(ctx context.Context, s kv.Store, families []kv.Family, ids []string) ([]*plug.Seen, error) {
	results, err := kv.GetEach(ctx, s, nil, families, ids)
	if err != nil {
		return nil, err
	}
	recs := make([]*plug.Seen, len(ids))
	sightings := make([]sighting, len(ids))
	var damaged []error
	for i := range sightings {
		of := results[i*len(families):][:len(families)]
		err := m.decode(&sightings[i], ids[i], of[0])
		if err == nil && len(of) > 1 {
			err = m.fillCounters(&sightings[i].Seen, of[1:])
		}
		if err != nil && !wire.IsCorrupt(err) {
			return nil, err
		}
		recs[i] = &sightings[i].Seen
		if err != nil {
			recs[i].Err, damaged = err, append(damaged, err)
		}
	}
	return recs, joined(damaged)
}

// sighting is a Seen with its envelope, so that those of a page are one piece of memory.
type sighting struct {
	plug.Seen
	envelope envelope.Envelope
}

// joined returns the one error of errs as it is, and more of them as one.
func joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

func (m *model) seeOne(ctx context.Context, s kv.Store, id string) (*plug.Seen, error) {
	recs, err := m.see(ctx, s, []string{id})
	if len(recs) == 0 {
		return nil, err
	}
	return recs[0], err
}

// look reads a record for a user, and keeps it for an update that may follow.
func (m *model) look(ctx context.Context, id string) (*plug.Seen, error) {
	results, err := kv.GetEach(ctx, kv.Near(m.db.store), nil, m.keys, []string{id})
	if err != nil {
		return nil, err
	}
	if !results[0].Near {
		m.db.recent.Keep(m.key(id), results, m.db.now())
	}
	return m.decodeCounted(id, results)
}

// decode makes rec, which is empty, what a get of id's record has answered. One that is
// damaged has nothing but its version, and a rev above all that it may have had.
func (m *model) decode(rec *sighting, id string, r kv.Result) error {
	rec.ID = id
	switch {
	case r.Err == nil:
	case errors.Is(r.Err, kv.ErrNotFound):
		return nil
	default:
		return m.failure(id, r.Err)
	}
	if err := rec.envelope.Decode(r.Value); err != nil {
		return m.damage(&rec.Seen, r, err)
	}
	rec.Rev, rec.Version, rec.Envelope = rec.envelope.Rev, r.Version, &rec.envelope
	if rec.Envelope.Deleted {
		return nil
	}
	v, err := m.decodeBody(rec.Envelope.Model, rec.Envelope.Body, len(r.Value) <= sharedBytes)
	rec.Value = v
	if rec.Envelope.Expires != 0 && rec.Envelope.HasEnded(m.db.now()) {
		m.end(&rec.Seen)
		return nil
	}
	if wire.IsCorrupt(err) {
		return m.damage(&rec.Seen, r, err)
	}
	return m.failure(id, err)
}

// decodeOne returns the record id as a get has answered. With an error that is no
// ErrCorrupt there is none.
func (m *model) decodeOne(id string, r kv.Result) (*plug.Seen, error) {
	var rec sighting
	err := m.decode(&rec, id, r)
	if err != nil && !wire.IsCorrupt(err) {
		return nil, err
	}
	return &rec.Seen, err
}

// end makes rec, which has expired, what it would be if it had been deleted.
func (m *model) end(rec *plug.Seen) {
	env := &envelope.Envelope{Model: rec.Envelope.Model, Rev: rec.Rev, Deleted: true, Tries: rec.Envelope.Tries}
	for _, index := range m.indexes() {
		if places := places(index, rec.Value); len(places) > 0 {
			env.Lost = append(env.Lost, envelope.Touched{Index: index.Name(), Places: places})
		}
	}
	rec.Envelope, rec.Value, rec.Ended = env, nil, true
}

// unreadAhead is how far above the clock the rev of a record is taken to be that is damaged
// or lost: a record begins with the milliseconds of a clock, and each change adds one.
const unreadAhead = 24 * time.Hour

// revAbove returns a rev above all that a record may have had.
func (m *model) revAbove() uint64 { return uint64(m.db.now().Add(unreadAhead).UnixMilli()) }

// damage makes rec a damaged record, of which err says that it cannot be read, and returns
// an ErrCorrupt.
func (m *model) damage(rec *plug.Seen, r kv.Result, err error) error {
	*rec = plug.Seen{ID: rec.ID, Rev: m.revAbove(), Version: r.Version}
	rec.Err = m.failure(rec.ID, wire.Corrupt(m.key(rec.ID), err))
	return rec.Err
}

// sharedBytes is the size of the largest record whose texts are parts of what the store
// has answered. A text that is kept keeps no more than that in memory.
const sharedBytes = 4 << 10

// decodeBody returns the record in a body that the given version of the model has
// written. If shared, the record may keep parts of body.
func (m *model) decodeBody(version int, body []byte, shared bool) (plug.Record, error) {
	v := m.empty()
	unmarshal := m.codec.Unmarshal
	if shared {
		unmarshal = m.codec.UnmarshalShared
	}
	if _, err := unmarshal(body, v); errors.Is(err, ErrCorrupt) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if up, ok := v.(upgrader); ok && version < m.version {
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
func (m *model) as(rec *plug.Seen, index plug.Index) {
	rec.Places, rec.Mark = nil, rec.Envelope.Mark(index.Name())
	if rec.Value != nil {
		rec.Places = index.Places(rec.Value)
	}
}
