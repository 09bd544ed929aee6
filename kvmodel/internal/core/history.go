package core

import (
	"context"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/revisions"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

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
