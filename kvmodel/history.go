package kvmodel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The history of a record is a log of its bodies under a key beside it. An entry
// is appended before the change that it speaks of commits, with the rev and nonce of
// that change and of the one before, so that what never committed is not in the chain
// that begins at the record: readers do not meet it. The record keeps the number
// of its revision, so numbers have no gap and the newest tells how many there
// were.

var historyKey = kv.NewClass("h", 2) // model, id text

const (
	// historyBytes is how much of a history is kept, whatever their number, and
	// how long a body may be that is kept at all.
	historyBytes = 256 << 10

	// historyMark is the mark in the envelope that holds the revision's number.
	// No index has such a name.
	historyMark = "#"
)

// History is the earlier bodies of the records of a model.
type History[T any, K comparable] struct{ r *Records[T, K] }

// NewHistory returns the history of r, whose schema says how much of it is kept.
func NewHistory[T any, K comparable](r *Records[T, K]) *History[T, K] { return &History[T, K]{r} }

// Revision is one body of a record.
type Revision[T any] struct {
	Rev  int64     // 1, 2, 3, ... for each record
	At   time.Time // when it was written, by the writer's clock
	Item *T        // nil: the record was deleted, or too large to be kept
}

// Of returns the last n revisions of the record with id, the newest first: what
// it is now, if it was not written before the model had a history, and what it
// was. Of a record that never was, there are none. One trip.
func (h *History[T, K]) Of(ctx context.Context, id K, n int) ([]Revision[T], error) {
	m, text := h.r.m, h.r.schema.Key.Text(id)
	rec, log, _, err := m.readHistory(ctx, m.db.store, text)
	if err != nil {
		return nil, m.failure(text, err)
	}
	var revisions []Revision[T]
	for _, e := range log.chain(rec.Envelope) {
		if len(revisions) == n {
			break
		}
		rev := Revision[T]{Rev: e.number, At: e.at}
		if e.kept {
			if rev.Item, err = m.decodeBody(&envelope.Envelope{Model: e.model, Body: e.body}); err != nil {
				return nil, m.failure(text, fmt.Errorf("revision %d: %w", e.number, err))
			}
		}
		revisions = append(revisions, rev)
	}
	return revisions, nil
}

// Restore makes the record with id what it was at revision rev, also where it is
// deleted, and returns it. That is a change like any other: what restoring undoes
// is a revision too. ErrNotFound if that revision is not kept.
func (h *History[T, K]) Restore(ctx context.Context, id K, rev int64) (*T, error) {
	revisions, err := h.Of(ctx, id, h.r.m.history)
	if err != nil {
		return nil, err
	}
	for _, r := range revisions {
		if r.Rev == rev && r.Item != nil {
			return h.r.Upsert(ctx, id, func(v *T) error { *v = *r.Item; return nil })
		}
	}
	text := h.r.schema.Key.Text(id)
	return nil, h.r.m.failure(text, fmt.Errorf("%w: revision %d", kv.ErrNotFound, rev))
}

// historyEntry is one body with what puts it in its place.
type historyEntry struct {
	of, prev envelope.Try // the change, if it committed, and the one before; rev 0: none
	number   int64
	at       time.Time
	model    int
	kept     bool // there is a body
	body     []byte
}

func (e *historyEntry) encode(dst []byte) []byte {
	var b []byte
	for _, t := range []envelope.Try{e.of, e.prev} {
		b = binary.AppendUvarint(b, t.Rev)
		b = binary.BigEndian.AppendUint64(b, t.Nonce)
	}
	b = binary.AppendUvarint(b, uint64(e.number))
	b = binary.AppendUvarint(b, uint64(e.at.UnixMilli()))
	b = binary.AppendUvarint(b, uint64(e.model))
	kept := byte(0)
	if e.kept {
		kept = 1
	}
	b = append(b, kept)
	b = append(b, e.body...)
	return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
}

// history is the entries of a log, in the order in which they were appended.
type history []historyEntry

func decodeHistory(data []byte) (history, error) {
	var log history
	r := wire.Reader{Rest: data}
	for len(r.Rest) > 0 {
		in := wire.Reader{Rest: []byte(r.Text("revision"))}
		if r.Err != nil {
			return nil, r.Err
		}
		e := historyEntry{of: readTry(&in), prev: readTry(&in)}
		e.number = int64(in.Number("revision number", 1<<62))
		e.at = time.UnixMilli(int64(in.Number("time", 1<<62))).UTC()
		e.model = int(in.Number("model version", 1<<31-1))
		e.kept = in.Byte() == 1
		e.body = in.Rest
		if in.Err != nil {
			return nil, in.Err
		}
		log = append(log, e)
	}
	return log, nil
}

func readTry(r *wire.Reader) envelope.Try {
	return envelope.Try{Rev: r.Number("rev", envelope.MaxRev), Nonce: r.Uint64()}
}

// chain returns the entries that committed, the newest first. env is the record's
// envelope, which names the last changes.
func (log history) chain(env *envelope.Envelope) []historyEntry {
	if env == nil {
		return nil
	}
	// A change that was tried again has the same nonce, but another rev.
	entries := make(map[envelope.Try]historyEntry, len(log))
	for _, e := range log {
		entries[e.of] = e
	}
	var chain []historyEntry
	for i := len(env.Tries) - 1; i >= 0; i-- {
		e, ok := entries[env.Tries[i]]
		for ok {
			delete(entries, e.of)
			chain = append(chain, e)
			e, ok = entries[e.prev]
		}
		// The entry of a deletion may be missing, since it is not waited for.
		if len(chain) > 0 {
			break
		}
	}
	return chain
}

// readHistory reads a record and its log in one trip.
func (m *model[T]) readHistory(ctx context.Context, s kv.Store, id string) (*plug.Seen[T], history, kv.Version, error) {
	key := historyKey.KeyOfText([]string{m.name}, id)
	results, err := kv.GetAll(ctx, s, m.key(id), key)
	if err != nil {
		return nil, nil, 0, err
	}
	rec, err := m.decode(id, results[0])
	if err != nil || results[1].Err != nil {
		return rec, nil, 0, err
	}
	log, err := decodeHistory(results[1].Value)
	if err != nil {
		return nil, nil, 0, fmt.Errorf("%s: %w", key, err)
	}
	return rec, log, results[1].Version, nil
}

// number gives p the number of its revision, which the record keeps.
func (c *change[T]) number(p *plan[T]) {
	n, _ := binary.Uvarint(p.rec.Envelope.Mark(historyMark))
	p.number = int64(n) + 1
	p.env.SetMark(historyMark, binary.AppendUvarint(nil, uint64(p.number)))
}

// keep appends what p makes of the record to its history.
func (c *change[T]) keep(s kv.Store, p *plan[T]) error {
	e := historyEntry{
		of: envelope.Try{Rev: p.env.Rev, Nonce: c.nonce}, number: p.number, at: c.db.now(),
		model: p.env.Model, kept: p.value != nil && len(p.env.Body) <= historyBytes,
	}
	if p.rec.Envelope != nil && len(p.rec.Envelope.Tries) > 0 {
		e.prev = p.rec.Envelope.Tries[len(p.rec.Envelope.Tries)-1]
	}
	if e.kept {
		e.body = p.env.Body
	}
	data := e.encode(nil)
	c.trimSometimes(len(data))
	key := historyKey.KeyOfText([]string{c.name}, c.id)
	for range maxTries {
		err := appendSurely(c.ctx, s, key, data)
		if !errors.Is(err, kv.ErrNotStored) {
			return err
		}
		// It is absent or full.
		_, err = kv.One(c.ctx, s, kv.OpAdd(key, data))
		if errors.Is(err, kv.ErrExists) {
			err = c.trim(c.ctx, s, c.id)
		} else if !errors.Is(err, kv.ErrUnclear) {
			return err
		}
		if err != nil && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", key, kv.ErrConflict)
}

// trimSometimes has the history trimmed now and then, the more often the more is
// put in.
func (c *change[T]) trimSometimes(size int) {
	every := max(1, min(c.history/4, historyBytes/4/size))
	if kv.Random()%uint64(every) != 0 {
		return
	}
	id := c.id
	c.db.Soon(func(ctx context.Context) error { return c.trim(ctx, c.db.store, id) })
}

// trim leaves the newest revisions, as many as are to be kept, and what may still
// become one. If somebody appends meanwhile it does nothing.
func (m *model[T]) trim(ctx context.Context, s kv.Store, id string) error {
	rec, log, version, err := m.readHistory(ctx, s, id)
	if err != nil || version == 0 {
		return err
	}
	stays := make(map[envelope.Try]bool)
	size := 0
	for i, e := range log.chain(rec.Envelope) {
		if size += len(e.body); i == m.history || size > historyBytes && i > 0 {
			break
		}
		stays[e.of] = true
	}
	var kept []byte
	dropped := false
	for _, e := range log {
		// A change of a higher rev than the record's may yet commit.
		if stays[e.of] || e.of.Rev > rec.Rev {
			kept = e.encode(kept)
		} else {
			dropped = true
		}
	}
	if !dropped {
		return nil
	}
	_, err = kv.One(ctx, s, kv.OpSwap(historyKey.KeyOfText([]string{m.name}, id), version, kept))
	if errors.Is(err, kv.ErrConflict) || errors.Is(err, kv.ErrNotFound) {
		return nil
	}
	return err
}
