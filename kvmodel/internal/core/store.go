package core

import (
	"context"
	"errors"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/revisions"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// EncodeBody returns the body of v with the fields of old that the struct does not have. old may be
// nil.
func (m *Model) EncodeBody(old *envelope.Envelope, v plug.Record) ([]byte, error) {
	body, err := m.Codec.Append(nil, v)
	if err != nil || !old.Live() {
		return body, err
	}
	unknown, err := m.Codec.Unmarshal(old.Body, m.Empty())
	if err != nil || !unknown {
		return body, err
	}
	return m.Codec.Merge(old.Body, body)
}

// TTL returns the lifetime of env's record. Tombstones through which numbers or a history are found
// never expire.
func (m *Model) TTL(env *envelope.Envelope) time.Duration {
	tombstone := times.Tombstone
	if m.Numbers != nil || m.History > 0 && !m.Forgets {
		tombstone = 0
	}
	return env.TTL(m.Db.Now(), tombstone)
}

func (m *Model) Stored(env *envelope.Envelope) time.Duration {
	ttl := m.TTL(env)
	if env.Ends().IsZero() {
		return ttl
	}
	return min(ttl+times.Ended, kv.MaxTTL)
}

func (m *Model) Store(rec *plug.Seen, env *envelope.Envelope) kv.Op {
	key := m.Key(rec.ID)
	if kv.IsHashed(key) && env.Mark(idMark) == nil {
		env.SetMark(idMark, []byte(rec.ID))
	}
	return kv.OpReplace(key, rec.Version, env.Encode(nil)).For(m.Stored(env))
}

// Fence raises the rev of rec past past, so that no change prepared before can commit. An absent
// record becomes a deleted one. ErrConflict: the record has changed.
func (m *Model) Fence(ctx context.Context, s kv.Store, rec *plug.Seen, past uint64) error {
	env := envelope.Envelope{Deleted: true, Model: m.Version}
	if rec.Envelope != nil {
		env = *rec.Envelope
	}
	env.Rev = max(rec.Rev+1, past)
	op := m.Store(rec, &env)
	_, err := kv.One(ctx, s, op)
	switch {
	case errors.Is(err, kv.ErrExists), errors.Is(err, kv.ErrNotFound):
		return m.Failure(rec.ID, kv.ErrConflict)
	case err == nil:
		rec.Rev = env.Rev
	}
	return err
}

// HistoryMark holds the number of the revision, so that numbers have no gap.
const HistoryMark = "#"

// ReadHistory reads a record and its log in one trip. With an ErrCorrupt it returns the readable
// part.
func (m *Model) ReadHistory(ctx context.Context, s kv.Store, id string) (*plug.Seen, revisions.Log, kv.Version, error) {
	key := revisions.Key(m.Name, id)
	results, err := kv.GetAll(ctx, s, m.Key(id), key)
	if err != nil {
		return nil, nil, 0, err
	}
	rec, err := m.DecodeOne(id, results[0])
	if err != nil || results[1].Err != nil {
		return rec, nil, 0, err
	}
	log, err := revisions.Decode(results[1].Value)
	return rec, log, results[1].Version, wire.Corrupt(key, err)
}

// TrimHistory removes surplus and damaged revisions, unless someone appends meanwhile.
func (m *Model) TrimHistory(ctx context.Context, s kv.Store, id string) error {
	rec, log, version, err := m.ReadHistory(ctx, s, id)
	if version == 0 {
		return err
	}
	data, shorter := log.Trim(rec.Envelope, m.History)
	if !shorter {
		return nil
	}
	_, err = kv.One(ctx, s, kv.OpSwap(revisions.Key(m.Name, id), version, data))
	if kv.Raced(err) {
		return nil
	}
	return err
}

// DropHistory removes the history up to the deletion.
func (m *Model) DropHistory(ctx context.Context, s kv.Store, id string) error {
	for range MaxTries {
		rec, log, version, err := m.ReadHistory(ctx, s, id)
		if version == 0 || rec.Envelope.Live() {
			return err
		}
		op := kv.OpDrop(revisions.Key(m.Name, id), version)
		if data := log.After(rec.Rev); len(data) > 0 {
			op = kv.OpSwap(op.Key, version, data)
		}
		if _, err = kv.One(ctx, s, op); !kv.Raced(err) {
			return err
		}
	}
	return m.Failure(id, kv.ErrConflict)
}
