package core

import (
	"context"
	"errors"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
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
