package kvmodel

import (
	"context"
	"encoding/binary"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/revisions"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// historyMark is the mark in the envelope that holds the number of the revision, so that numbers
// have no gap and the newest gives their count. No index has this name.
const historyMark = "#"

// readHistory reads a record and its log in one trip. With an ErrCorrupt it returns the readable
// part of the log, unless the record is nil or damaged.
func (m *model) readHistory(ctx context.Context, s kv.Store, id string) (*plug.Seen, revisions.Log, kv.Version, error) {
	key := revisions.Key(m.name, id)
	results, err := kv.GetAll(ctx, s, m.key(id), key)
	if err != nil {
		return nil, nil, 0, err
	}
	rec, err := m.decodeOne(id, results[0])
	if err != nil || results[1].Err != nil {
		return rec, nil, 0, err
	}
	log, err := revisions.Decode(results[1].Value)
	return rec, log, results[1].Version, wire.Corrupt(key, err)
}

// trimHistory removes surplus and damaged revisions. If someone appends meanwhile, it does nothing.
func (m *model) trimHistory(ctx context.Context, s kv.Store, id string) error {
	rec, log, version, err := m.readHistory(ctx, s, id)
	if version == 0 {
		return err
	}
	data, shorter := log.Trim(rec.Envelope, m.history)
	if !shorter {
		return nil
	}
	_, err = kv.One(ctx, s, kv.OpSwap(revisions.Key(m.name, id), version, data))
	if kv.Raced(err) {
		return nil
	}
	return err
}

// dropHistory removes the history of the record id up to its deletion. Revisions appended for a
// record that is about to be created again stay.
func (m *model) dropHistory(ctx context.Context, s kv.Store, id string) error {
	for range maxTries {
		rec, log, version, err := m.readHistory(ctx, s, id)
		if version == 0 || rec.Envelope.Live() {
			return err
		}
		op := kv.OpDrop(revisions.Key(m.name, id), version)
		if data := log.After(rec.Rev); len(data) > 0 {
			op = kv.OpSwap(op.Key, version, data)
		}
		if _, err = kv.One(ctx, s, op); !kv.Raced(err) {
			return err
		}
	}
	return m.failure(id, kv.ErrConflict)
}

// numberRevision sets the number of p's revision, which is stored in the record.
func (c *change) numberRevision(p *plan) {
	n, _ := binary.Uvarint(p.rec.Envelope.Mark(historyMark))
	p.number = int64(n) + 1
	p.env.SetMark(historyMark, binary.AppendUvarint(nil, uint64(p.number)))
}

// keepRevision appends the new state of the record to its history.
func (c *change) keepRevision(s kv.Store, p *plan) error {
	e := revisions.Entry{
		Of: envelope.Try{Rev: p.env.Rev, Nonce: c.nonce}, Number: p.number, At: c.db.now(),
		Model: p.env.Model, Kept: p.value != nil && len(p.env.Body) <= revisions.MaxBytes,
	}
	if p.rec.Envelope != nil && len(p.rec.Envelope.Tries) > 0 {
		e.Prev = p.rec.Envelope.Tries[len(p.rec.Envelope.Tries)-1]
	}
	if e.Kept {
		e.Body = p.env.Body
	}
	data := e.Encode(nil)
	c.trimSometimes(len(data))
	return revisions.Append(c.ctx, s, revisions.Key(c.name, c.id), data, func() error { return c.trimHistory(c.ctx, s, c.id) })
}

// trimSometimes trims the history occasionally, more often if size bytes per revision fill it
// faster.
func (c *change) trimSometimes(size int) {
	every := max(1, min(c.history/4, revisions.MaxBytes/4/size))
	if kv.Random()%uint64(every) != 0 {
		return
	}
	id := c.id
	c.db.Soon(func(ctx context.Context) error { return c.trimHistory(ctx, c.db.store, id) })
}
