package kvmodel

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// encodeBody returns the body of v. Fields of old that the struct does not have are kept. old may
// be nil.
func (m *model) encodeBody(old *envelope.Envelope, v plug.Record) ([]byte, error) {
	body, err := m.codec.Append(nil, v)
	if err != nil || !old.Live() {
		return body, err
	}
	unknown, err := m.codec.Unmarshal(old.Body, m.empty())
	if err != nil || !unknown {
		return body, err
	}
	return m.codec.Merge(old.Body, body)
}

// ttl returns the lifetime of env's record. Tombstones of numbered records never expire, because
// the next number is found through them. Neither do tombstones of records with a history, which is
// found through them, unless the history is deleted with the record.
func (m *model) ttl(env *envelope.Envelope) time.Duration {
	tombstone := times.Tombstone
	if m.numbers != nil || m.history > 0 && !m.forgets {
		tombstone = 0
	}
	return env.TTL(m.db.now(), tombstone)
}

// stored returns the lifetime of env's item.
func (m *model) stored(env *envelope.Envelope) time.Duration {
	ttl := m.ttl(env)
	if env.Ends().IsZero() {
		return ttl
	}
	return min(ttl+times.Ended, kv.MaxTTL)
}

// store returns the op that replaces rec by env.
func (m *model) store(rec *plug.Seen, env *envelope.Envelope) kv.Op {
	key := m.key(rec.ID)
	if kv.IsHashed(key) && env.Mark(idMark) == nil {
		env.Marks = slices.Clip(env.Marks) // others may be reading them
		env.SetMark(idMark, []byte(rec.ID))
	}
	return kv.OpReplace(key, rec.Version, env.Encode(nil)).For(m.stored(env))
}

// fence raises the rev of rec past every rev up to past and changes nothing else, so that no change
// prepared for one of them can commit. An absent record becomes a deleted one. The error is an
// ErrConflict if the record has changed since it was read.
func (m *model) fence(ctx context.Context, s kv.Store, rec *plug.Seen, past uint64) error {
	env := envelope.Envelope{Deleted: true, Model: m.version}
	if rec.Envelope != nil {
		env = *rec.Envelope
	}
	env.Rev = max(rec.Rev+1, past)
	op := m.store(rec, &env)
	_, err := kv.One(ctx, s, op)
	switch {
	case errors.Is(err, kv.ErrExists), errors.Is(err, kv.ErrNotFound):
		return m.failure(rec.ID, kv.ErrConflict)
	case err == nil:
		rec.Rev = env.Rev
	}
	return err
}
