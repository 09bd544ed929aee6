package inspect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// item is a piece of what a database knows and cannot make again from something else. That is
// what is exported: indexes are built at the other end. Records say themselves where they
// stand in timelines.
type item struct {
	kind  kind
	model string // of a record
	id    string // of a record, its text
	name  string // of a counter
	key   string // of kept: as it is stored
	ends  int64  // when it ends, in milliseconds since 1970; 0: never
	value []byte
}

// kind is what an item is.
type kind byte

const (
	record  kind = 'r'
	counter kind = 'n'
	history kind = 'h'
	kept    kind = 'k' // what its key says: of a set, a sequence, events, a session, a period
)

// of says what the item is of, for messages.
func (it *item) of() string {
	switch it.kind {
	case kept:
		return it.key
	case history:
		return it.model + " " + it.id + ": its history"
	}
	return strings.TrimSuffix(it.model+" "+it.id+" "+it.name, " ")
}

// keyIn returns the key under which the item stands.
func (it *item) keyIn(in *Inspector) (string, error) {
	if it.kind == kept {
		return it.key, nil
	}
	m, err := in.model(it.model)
	if err != nil {
		return "", err
	}
	switch it.kind {
	case counter:
		return m.CounterKey(it.name, it.id), nil
	case history:
		return m.HistoryKey(it.id), nil
	}
	return m.Key(it.id), nil
}

// records calls f with the records of m that it wants, each with its counters and its history,
// some at a time.
func (in *Inspector) records(ctx context.Context, m model, p *pacer, want wanted, f func([]item) error) error {
	return m.IDs(ctx, "", func(ids []string, _ string) error {
		for some := range slices.Chunk(ids, at) {
			if want != nil {
				var err error
				if some, err = want(ctx, m, some); err != nil {
					return err
				}
			}
			items, err := in.itemsOf(ctx, m, some)
			if err != nil {
				return err
			}
			if err := f(items); err != nil {
				return err
			}
		}
		return p.did(ctx, len(ids), "")
	})
}

// wanted returns those of the records ids that are wanted; nil: all are.
type wanted func(ctx context.Context, m model, ids []string) ([]string, error)

// lacking wants what is not here: records, or something that belongs to them.
func (in *Inspector) lacking(ctx context.Context, m model, ids []string) (some []string, err error) {
	asked, keys, err := in.asked(m, ids)
	if err != nil {
		return nil, err
	}
	results, err := kv.GetAll(ctx, in.store, keys...)
	for i := range results {
		if results[i].Err != nil {
			some = append(some, asked[i].id)
		}
	}
	return slices.Compact(some), err
}

// asked returns the items that there may be of the records ids, and their keys.
func (in *Inspector) asked(m model, ids []string) (asked []item, keys []string, err error) {
	for _, id := range ids {
		some := []item{{kind: record, model: m.Name(), id: id}}
		for _, name := range m.Counters() {
			some = append(some, item{kind: counter, model: m.Name(), id: id, name: name})
		}
		if m.KeepsHistory() {
			some = append(some, item{kind: history, model: m.Name(), id: id})
		}
		for _, it := range some {
			key, err := it.keyIn(in)
			if err != nil {
				return nil, nil, err
			}
			asked, keys = append(asked, it), append(keys, key)
		}
	}
	return asked, keys, nil
}

// itemsOf returns the items of the records ids. A record that is damaged is an error: it would
// be missing from what claims to be all.
func (in *Inspector) itemsOf(ctx context.Context, m model, ids []string) (items []item, err error) {
	asked, keys, err := in.asked(m, ids)
	if err != nil {
		return nil, err
	}
	results, err := kv.GetAll(ctx, in.store, keys...)
	if err != nil {
		return nil, err
	}
	stays := false
	for i, it := range asked {
		if it.value = results[i].Value; it.kind == record {
			if stays, err = in.stays(m, &it, results[i].Err); err != nil {
				return nil, err
			}
		}
		if stays && results[i].Err == nil {
			items = append(items, it)
		}
	}
	return items, nil
}

// stays reports whether a record is to be exported: one that lives, or that is deleted and
// has a history or a number.
func (in *Inspector) stays(m model, it *item, err error) (bool, error) {
	if err != nil {
		return false, nil // It is absent; what else a get may say, GetAll has said.
	}
	s := m.Decode(it.id, it.value)
	if s.Err != nil {
		return false, fmt.Errorf("%w; repair or delete it first", s.Err)
	}
	if it.ends = s.Envelope.Expires; s.Envelope.Deleted {
		it.ends = 0
		return m.KeepsHistory() || m.IsNumbered(), nil
	}
	return !s.Ended, nil
}

// others calls f with the items that belong to no record, some at a time.
func (in *Inspector) others(ctx context.Context, p *pacer, f func([]item) error) error {
	return in.eachKey(ctx, "", func(keys []string) error {
		var items []item
		var mine []string
		for _, key := range keys {
			if ends, ok := in.isKept(key); ok {
				items = append(items, item{kind: kept, key: key, ends: ends})
				mine = append(mine, key)
			}
		}
		results, err := kv.GetAll(ctx, in.store, mine...)
		if err != nil {
			return err
		}
		var there []item
		for i, it := range items {
			if it.value = results[i].Value; results[i].Err != nil {
				continue
			}
			if strings.HasPrefix(it.key, "session:") {
				it.ends = endOfSession(it.value)
			}
			if _, ended, _ := it.lives(in); !ended {
				there = append(there, it)
			}
		}
		if err := f(there); err != nil {
			return err
		}
		return p.did(ctx, len(keys), "")
	})
}

// isKept reports whether what stands under key is exported as it is, and when it ends.
func (in *Inspector) isKept(key string) (ends int64, ok bool) {
	o := in.owner(key)
	w := o.window
	switch {
	case o.class == "session" || o.class == "sessions":
		return 0, true
	case o.class == "per" && o.known:
		for _, board := range o.model.windows {
			if board.Name() == o.part {
				w = board
			}
		}
	case w == nil:
		return 0, false
	case w.Kind() != "events":
		return 0, false
	}
	if e, is := w.(plug.Ender); is {
		if at := e.Ends(key); !at.IsZero() {
			return at.UnixMilli(), true
		}
	}
	return 0, true
}

// endOfSession returns when a session ends, however it is used.
func endOfSession(value []byte) int64 {
	fields, _ := fieldsOf(value)
	for _, f := range fields {
		if at, ok := f.Value.(time.Time); ok && f.Name == "Ends" {
			return at.UnixMilli()
		}
	}
	return 0
}

// lives returns for how long an item is to be stored from now on, 0 for ever, or that it has
// ended.
func (it *item) lives(in *Inspector) (ttl time.Duration, ended bool, err error) {
	if it.kind == record {
		m, err := in.model(it.model)
		if err != nil {
			return 0, false, err
		}
		ttl, err := m.Stands(it.value)
		return max(ttl, 0), ttl < 0, err
	}
	if it.ends == 0 {
		return 0, false, nil
	}
	ttl = time.UnixMilli(it.ends).Sub(in.db.Now())
	return min(max(ttl, time.Second), kv.MaxTTL), ttl <= 0, nil
}

// errEmpty says that there is nothing to export.
var errEmpty = errors.New("the database has no models")
