package core

import (
	"context"
	"errors"
	"fmt"
	"unsafe"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type upgrader interface{ Upgrade(from int) error }

func (m *Model) See(ctx context.Context, s kv.Store, ids []string) ([]*plug.Seen, error) {
	return m.seeIn(ctx, s, m.Keys, ids)
}

// seenIn reads all families, or only the first: then without counters.
func (m *Model) seeIn(ctx context.Context, s kv.Store, families []kv.Family, ids []string) ([]*plug.Seen, error) {
	results, err := kv.GetEach(ctx, s, m.Decoder, families, ids)
	if err != nil {
		return nil, err
	}
	return m.seen(ids, results)
}

// SeeAs is seeIn for an index, without Counts. at, unless nil, is the index whose places are set.
func (m *Model) SeeAs(ctx context.Context, s kv.Store, families []kv.Family, ids []string, at plug.Index) (recs []*plug.Seen, err error) {
	err = kv.UseEach(ctx, s, m.Decoder, families, ids, func(results []kv.Result) (err error) {
		recs, err = m.seen(ids, results)
		for _, rec := range recs {
			rec.Counts = nil
			if at != nil {
				rec.Places = Places(at, rec.Value)
			}
		}
		return err
	})
	return recs, err
}

// seen decodes the results for ids.
func (m *Model) seen(ids []string, results []kv.Result) ([]*plug.Seen, error) {
	recs, seen := make([]*plug.Seen, len(ids)), make([]plug.Seen, len(ids))
	err := m.decodeEach(ids, results, func(i int, rec *plug.Seen) {
		seen[i] = *rec
		recs[i] = &seen[i]
	})
	if err != nil && !wire.IsCorrupt(err) {
		return nil, err
	}
	return recs, err
}

// Values returns only the records, nil for missing ones.
func (m *Model) Values(ctx context.Context, s kv.Store, ids []string) ([]plug.Record, error) {
	var values []plug.Record
	err := kv.UseEach(ctx, s, m.Decoder, m.Keys, ids, func(results []kv.Result) error {
		values = make([]plug.Record, len(ids))
		return m.decodeEach(ids, results, func(i int, rec *plug.Seen) { values[i] = rec.Value })
	})
	if err != nil && !wire.IsCorrupt(err) {
		return nil, err
	}
	return values, err
}

// decodeEach calls f with the decoded results of each of ids. f must not retain rec.
func (m *Model) decodeEach(ids []string, results []kv.Result, f func(i int, rec *plug.Seen)) error {
	var room recordRoom
	var damaged []error
	var rec plug.Seen
	n := len(results) / max(len(ids), 1)
	// This loop is so short that the processor waits for the memory of many records at a time.
	for i := range ids {
		if holds(results[i*n]) {
			room.wanted++
		}
	}
	for i, id := range ids {
		rec = plug.Seen{}
		err := m.decodeIn(&room, &rec, id, results[i*n:][:n])
		if err != nil && !wire.IsCorrupt(err) {
			return err
		}
		if err != nil {
			rec.Err, damaged = err, append(damaged, err)
		}
		f(i, &rec)
		if rec.Value != nil {
			room.wanted--
		}
	}
	return Joined(damaged)
}

// holds reports whether r may be a live record.
func holds(r kv.Result) bool {
	k, kept := r.Decoded.(*keptRecord)
	return r.Err == nil && (!kept || k.value != nil)
}

func (m *Model) decodeIn(room *recordRoom, rec *plug.Seen, id string, results []kv.Result) error {
	err := m.decode(room, rec, id, results[0])
	if err == nil && len(results) > 1 {
		err = m.fillCounters(rec, results[1:])
	}
	return err
}

// recordRoom allocates the records of a page together.
type recordRoom struct {
	envelopes []envelope.Envelope
	copies    any // of kept records, as bodies want it
	wanted    int // how many records may still be needed
}

func (r *recordRoom) envelope() *envelope.Envelope {
	if len(r.envelopes) == 0 {
		r.envelopes = make([]envelope.Envelope, max(r.wanted, 1))
	}
	next := &r.envelopes[0]
	r.envelopes = r.envelopes[1:]
	return next
}

// Joined returns a single error unchanged and joins several.
func Joined(errs []error) error {
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

func (m *Model) SeeOne(ctx context.Context, s kv.Store, id string) (*plug.Seen, error) {
	recs, err := m.See(ctx, s, []string{id})
	if len(recs) == 0 {
		return nil, err
	}
	return recs[0], err
}

// Shown returns the store for reads by users. Most reads of records with several ids, such as
// votes, find nothing.
func (m *Model) Shown() kv.Store {
	if m.IsEdge {
		return kv.Sparse(m.Db.Store)
	}
	return kv.Near(m.Db.Store)
}

// Look reads a record for a user and remembers it for a following update.
func (m *Model) Look(ctx context.Context, id string) (*plug.Seen, error) {
	results, err := kv.GetEach(ctx, m.Shown(), m.Decoder, m.Keys, []string{id})
	if err != nil {
		return nil, err
	}
	if !results[0].Near {
		m.Db.Recent.Keep(m.Key(id), results, m.Db.Now())
	}
	return m.DecodeCounted(id, results)
}

// decode fills the empty rec. A damaged record has only its version, and a rev above any it may
// have had.
func (m *Model) decode(room *recordRoom, rec *plug.Seen, id string, r kv.Result) error {
	rec.ID = id
	switch {
	case r.Err == nil:
	case errors.Is(r.Err, kv.ErrNotFound):
		return nil
	default:
		return m.Failure(id, r.Err)
	}
	if kept, ok := r.Decoded.(*keptRecord); ok {
		m.copyKept(room, rec, r.Version, kept)
		return nil
	}
	env := room.envelope()
	if err := env.Decode(r.Value); err != nil {
		return m.damage(rec, r, err)
	}
	rec.Rev, rec.Version, rec.Envelope = env.Rev, r.Version, env
	if rec.Envelope.Deleted {
		return nil
	}
	v, err := m.DecodeBody(rec.Envelope.Model, rec.Envelope.Body, len(r.Value) <= sharedBytes)
	rec.Value = v
	if rec.Envelope.Expires != 0 && rec.Envelope.HasEnded(m.Db.Now()) {
		m.end(rec)
		return nil
	}
	if wire.IsCorrupt(err) {
		return m.damage(rec, r, err)
	}
	return m.Failure(id, err)
}

// keptRecord is a record in a store's cache.
type keptRecord struct {
	value    plug.Record // nil: deleted
	envelope envelope.Envelope
}

func (m *Model) decodeKept(value []byte) (any, int, error) {
	k := new(keptRecord)
	size := int(unsafe.Sizeof(*k))
	if err := k.envelope.Decode(value); err != nil || k.envelope.Deleted {
		return k, size, err
	}
	shared := len(value) <= sharedBytes
	v, err := m.DecodeBody(k.envelope.Model, k.envelope.Body, shared)
	if err != nil {
		return nil, 0, err
	}
	k.value = v
	return k, size + codec.Size(v, shared), nil
}

func (m *Model) copyKept(room *recordRoom, rec *plug.Seen, version kv.Version, k *keptRecord) {
	rec.Rev, rec.Version, rec.Envelope = k.envelope.Rev, version, &k.envelope
	if k.value != nil {
		rec.Value, room.copies = m.Codec.CopyOf(k.value, room.copies, room.wanted)
	}
	if k.envelope.Expires != 0 && k.envelope.HasEnded(m.Db.Now()) {
		m.end(rec)
	}
}

// DecodeOne returns nil after an error other than ErrCorrupt.
func (m *Model) DecodeOne(id string, r kv.Result) (*plug.Seen, error) {
	rec := new(plug.Seen)
	err := m.decode(new(recordRoom), rec, id, r)
	if err != nil && !wire.IsCorrupt(err) {
		return nil, err
	}
	return rec, err
}

// end turns an expired record into a deleted one.
func (m *Model) end(rec *plug.Seen) {
	env := rec.Envelope.Tombstone(rec.Envelope.Model)
	for _, index := range m.Indexes() {
		if places := Places(index, rec.Value); len(places) > 0 {
			env.Lost = append(env.Lost, envelope.Touched{Index: index.Name(), Places: places})
		}
	}
	rec.Envelope, rec.Value, rec.Ended = env, nil, true
}

// revAbove returns a rev above any that a damaged or lost record may have had.
func (m *Model) revAbove() uint64 { return uint64(m.Db.Now().Add(times.Ahead).UnixMilli()) }

func (m *Model) damage(rec *plug.Seen, r kv.Result, err error) error {
	*rec = plug.Seen{ID: rec.ID, Rev: m.revAbove(), Version: r.Version}
	rec.Err = m.Failure(rec.ID, wire.Corrupt(m.Key(rec.ID), err))
	return rec.Err
}

// sharedBytes is the size of the largest record whose texts refer to the store's answer: one of
// them keeps no more than that in memory.
const sharedBytes = 4 << 10

func (m *Model) DecodeBody(version int, body []byte, shared bool) (plug.Record, error) {
	v := m.Empty()
	unmarshal := m.Codec.Unmarshal
	if shared {
		unmarshal = m.Codec.UnmarshalShared
	}
	if _, err := unmarshal(body, v); errors.Is(err, codec.ErrCorrupt) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", codec.ErrCorrupt, err)
	}
	if up, ok := v.(upgrader); ok && version < m.Version {
		if err := up.Upgrade(version); err != nil {
			return nil, fmt.Errorf("upgrade from version %d: %w", version, err)
		}
	}
	if at := m.Schema(v).Revision; at != nil && *at == 0 {
		*at = 1
	}
	return v, nil
}

func (m *Model) As(rec *plug.Seen, index plug.Index) {
	rec.Places, rec.Mark = nil, rec.Envelope.Mark(index.Name())
	if rec.Value != nil {
		rec.Places = index.Places(rec.Value)
	}
}

func PlacesOf(all []envelope.Touched, index string) []string {
	for _, t := range all {
		if t.Index == index {
			return t.Places
		}
	}
	return nil
}

func Places(index plug.Index, v plug.Record) []string {
	if v == nil {
		return nil
	}
	return index.Places(v)
}
