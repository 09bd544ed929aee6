package kvmodel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var recordKey = kv.NewClass("r", 2) // model, id text

// model is the part of a data class that does not know the type of its ids:
// it reads and writes records by the texts of their ids.
type model[T any] struct {
	db       *DB
	name     string
	version  int
	codec    Codec[T]
	schema   func(*T) fields // the record's own fields that the write path fills in
	indexes  []plug.Index[T]
	streaks  []*streak // of the indexes, by their numbers
	counters []CounterOf[T]
	history  int
	all      *enumeration
	numbers  *Numbering // of a model whose ids are given in order; else nil

	mu       sync.Mutex
	handlers []func(ctx context.Context, id string, created bool) error
	calls    atomic.Int64 // of handlers, under way

	built builtState
}

// fields points at the fields of one record that the write path fills in; nil
// where the model has none.
type fields struct {
	revision                  *int64
	created, updated, expires *time.Time
}

// upgrader is a model that knows how to bring records of older versions up.
type upgrader interface{ Upgrade(from int) error }

// validator is a model that says whether a record may be stored.
type validator interface{ Validate() error }

func (m *model[T]) plug(index plug.Index[T]) {
	for _, other := range m.indexes {
		if other.Name() == index.Name() {
			panic("kvmodel: model " + m.name + " has an index " + index.Name() + " already")
		}
	}
	if len(m.indexes) == envelope.MaxIndexes {
		panic("kvmodel: model " + m.name + " has too many indexes")
	}
	m.indexes = append(m.indexes, index)
	m.streaks = append(m.streaks, new(streak))
}

func (m *model[T]) index(name string) plug.Index[T] {
	for _, index := range m.indexes {
		if index.Name() == name {
			return index
		}
	}
	return nil
}

// shape tells two releases apart that keep other indexes.
func (m *model[T]) shape() string {
	h := sha256.New()
	for _, index := range m.indexes {
		fmt.Fprintf(h, "%q %q\n", index.Name(), index.Def())
	}
	return hex.EncodeToString(h.Sum(nil)[:6])
}

func (m *model[T]) key(id string) string { return recordKey.KeyOfText([]string{m.name}, id) }

// failure returns err with the record it befell, unless it says so already. A
// TakenError says all by itself.
func (m *model[T]) failure(id string, err error) error {
	what := m.name + " " + kv.Quote(id)
	switch e := err.(type) {
	case nil, *TakenError:
		return err
	case *recordError:
		if e.what == what {
			return err
		}
	}
	return &recordError{what, err}
}

// recordError is an error with the record it befell.
type recordError struct {
	what string
	err  error
}

func (e *recordError) Error() string { return e.what + ": " + e.err.Error() }

func (e *recordError) Unwrap() error { return e.err }

// see reads records in one trip. Each id has its Seen; the error is not nil
// if some could not be asked for or is corrupt.
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
	for i, r := range results[:len(ids)] {
		if recs[i], err = m.decode(ids[i], r); err != nil {
			return nil, err
		}
		if err := m.count(recs[i], counts[i*len(m.counters):]); err != nil {
			return nil, err
		}
	}
	return recs, nil
}

func (m *model[T]) seeOne(ctx context.Context, s kv.Store, id string) (*plug.Seen[T], error) {
	recs, err := m.see(ctx, s, []string{id})
	if err != nil {
		return nil, err
	}
	return recs[0], nil
}

// decode returns what a get of id's record answered.
func (m *model[T]) decode(id string, r kv.Result) (*plug.Seen[T], error) {
	if errors.Is(r.Err, kv.ErrNotFound) {
		return &plug.Seen[T]{ID: id}, nil
	}
	if r.Err != nil {
		return nil, m.failure(id, r.Err)
	}
	env, err := envelope.Decode(r.Value)
	if err != nil {
		return nil, m.failure(id, err)
	}
	rec := &plug.Seen[T]{ID: id, Rev: env.Rev, Version: r.Version, Envelope: env}
	if env.Deleted {
		return rec, nil
	}
	rec.Value, err = m.decodeBody(env)
	return rec, m.failure(id, err)
}

func (m *model[T]) decodeBody(env *envelope.Envelope) (*T, error) {
	v := new(T)
	if _, err := m.codec.Unmarshal(env.Body, v); errors.Is(err, ErrCorrupt) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}
	if up, ok := any(v).(upgrader); ok && env.Model < m.version {
		if err := up.Upgrade(env.Model); err != nil {
			return nil, fmt.Errorf("upgrade from version %d: %w", env.Model, err)
		}
	}
	if at := m.schema(v).revision; at != nil && *at == 0 {
		*at = 1
	}
	return v, nil
}

// lost returns the places that may still name rec although it is deleted.
func lost[T any](rec *plug.Seen[T]) []envelope.Touched {
	if rec.Envelope == nil {
		return nil
	}
	return rec.Envelope.Lost
}

// view fills in what index sees of rec.
func (m *model[T]) view(rec *plug.Seen[T], index plug.Index[T]) {
	rec.Places, rec.Mark = nil, rec.Envelope.Mark(index.Name())
	if rec.Value != nil {
		rec.Places = index.Places(rec.Value)
	}
}

// encodeBody returns v's body. What old, which may be nil, holds and T does
// not know is kept.
func (m *model[T]) encodeBody(old *envelope.Envelope, v *T) ([]byte, error) {
	body, err := m.codec.Append(nil, v)
	if err != nil || !old.Live() {
		return body, err
	}
	unknown, err := m.codec.Unmarshal(old.Body, new(T))
	if err != nil || !unknown {
		return body, err
	}
	return m.codec.Merge(old.Body, body)
}

// fence raises rec's rev past every rev up to past, changing nothing else, so
// that no change prepared for one of them can commit. An absent record becomes
// a deleted one. ErrConflict: the record changed meanwhile.
func (m *model[T]) fence(ctx context.Context, s kv.Store, rec *plug.Seen[T], past uint64) error {
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

// ttl returns how long env's item is to live. The tombstones of numbered records
// stay, since they are what the next number is found by, and those of records
// with a history, since it is found by them.
func (m *model[T]) ttl(env *envelope.Envelope) time.Duration {
	tombstone := tombstoneTTL
	if m.numbers != nil || m.history > 0 {
		tombstone = 0
	}
	return env.TTL(m.db.now(), tombstone)
}

// store returns the op that puts env in the place of rec.
func (m *model[T]) store(rec *plug.Seen[T], env *envelope.Envelope) kv.Op {
	key, value, ttl := m.key(rec.ID), env.Encode(nil), m.ttl(env)
	if rec.Version == 0 {
		return kv.OpAdd(key, value).For(ttl)
	}
	return kv.OpSwap(key, rec.Version, value).For(ttl)
}

// unavailable wraps why something was not even tried.
func unavailable(cause error) error { return fmt.Errorf("%w: %w", kv.ErrUnavailable, cause) }
