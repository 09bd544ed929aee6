// Package revisions stores the earlier bodies of a record, as a log under a separate key.
//
// An entry is appended before its change commits, with the rev and nonce of that change and of the
// previous one. So the entry of a change that never committed is not in the chain that starts at
// the record, and readers do not see it.
package revisions

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var logKey = kv.NewClass("h", 2) // model, id text

// MaxBytes limits a log, regardless of the number of entries, and a body in it.
const MaxBytes = 256 << 10

const maxTries = 8

func Key(model, id string) string { return logKey.KeyOfText([]string{model}, id) }

type Entry struct {
	Of, Prev envelope.Try // Rev 0: none
	Number   int64
	At       time.Time
	Model    int
	Kept     bool // there is a body
	Body     []byte
}

func (e *Entry) Encode(dst []byte) []byte { return frame.Append(dst, e.body()) }

func (e *Entry) body() []byte {
	var b []byte
	for _, t := range []envelope.Try{e.Of, e.Prev} {
		b = binary.AppendUvarint(b, t.Rev)
		b = binary.BigEndian.AppendUint64(b, t.Nonce)
	}
	b = binary.AppendUvarint(b, uint64(e.Number))
	b = binary.AppendUvarint(b, uint64(e.At.UnixMilli()))
	b = binary.AppendUvarint(b, uint64(e.Model))
	kept := byte(0)
	if e.Kept {
		kept = 1
	}
	b = append(b, kept)
	return append(b, e.Body...)
}

// Log is the entries in append order.
type Log []Entry

// Decode returns the log in data. With an ErrCorrupt it returns the readable entries.
func Decode(data []byte) (log Log, damaged error) {
	for len(data) > 0 {
		body, rest, err := frame.Next(data)
		var e Entry
		if err == nil {
			e, err = decodeEntry(body)
		}
		if err == nil {
			log = append(log, e)
		}
		damaged, data = cmp.Or(damaged, err), rest
	}
	return log, damaged
}

func decodeEntry(body []byte) (e Entry, err error) {
	in := wire.Reader{Rest: body}
	e = Entry{Of: readTry(&in), Prev: readTry(&in)}
	e.Number = int64(in.Number("revision number", 1<<62))
	e.At = time.UnixMilli(int64(in.Number("time", 1<<62))).UTC()
	e.Model = int(in.Number("model version", 1<<31-1))
	e.Kept = in.Byte() == 1
	e.Body = in.Rest
	return e, in.Err
}

func readTry(r *wire.Reader) envelope.Try {
	return envelope.Try{Rev: r.Number("rev", envelope.MaxRev), Nonce: r.Uint64()}
}

// Chain returns the committed entries, newest first.
func (log Log) Chain(env *envelope.Envelope) []Entry {
	if env == nil {
		return nil
	}
	// Attempts of a change have the same nonce but different revs.
	entries := make(map[envelope.Try]Entry, len(log))
	for _, e := range log {
		entries[e.Of] = e
	}
	var chain []Entry
	for _, try := range env.Tries() {
		e, ok := entries[try]
		for ok {
			delete(entries, e.Of)
			chain = append(chain, e)
			e, ok = entries[e.Prev]
		}
		// The entry of a deletion may be missing, since a deletion does not wait for it.
		if len(chain) > 0 {
			break
		}
	}
	return chain
}

// Trim keeps the newest n revisions and the entries that may still commit.
func (log Log) Trim(env *envelope.Envelope, n int) (data []byte, shorter bool) {
	stays := make(map[envelope.Try]bool)
	size := 0
	for i, e := range log.Chain(env) {
		if size += len(e.Body); i == n || size > MaxBytes && i > 0 {
			break
		}
		stays[e.Of] = true
	}
	for _, e := range log {
		// A change with a higher rev than the record may still commit.
		if stays[e.Of] || e.Of.Rev > env.Revision() {
			data = e.Encode(data)
		} else {
			shorter = true
		}
	}
	return data, shorter
}

// After keeps the entries with a higher rev.
func (log Log) After(rev uint64) (data []byte) {
	for _, e := range log {
		if e.Of.Rev > rev {
			data = e.Encode(data)
		}
	}
	return data
}

// Append calls trim when the log is full.
func Append(ctx context.Context, s kv.Store, key string, data []byte, trim func() error) error {
	for range maxTries {
		err := kv.AppendSurely(ctx, s, key, data)
		if !errors.Is(err, kv.ErrNotStored) {
			return err
		}
		// The log is absent or full.
		_, err = kv.One(ctx, s, kv.OpAdd(key, data))
		if errors.Is(err, kv.ErrExists) {
			err = trim()
		} else if !errors.Is(err, kv.ErrUnclear) {
			return err
		}
		if err != nil && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", key, kv.ErrConflict)
}
