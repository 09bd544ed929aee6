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

// An item is data that cannot be derived from other data. A record contains its places in
// timelines; other indexes are built at the destination.
type item struct {
	kind  kind
	model string // of a record
	id    string // of a record, as text
	name  string // of a counter
	key   string // for kept: the stored key
	ends  int64  // Unix milliseconds; 0: never
	value []byte
}

type kind byte

const (
	record  kind = 'r'
	counter kind = 'n'
	history kind = 'h'
	kept    kind = 'k' // under its key: events, sessions, periods
)

func (it *item) of() string {
	switch it.kind {
	case kept:
		return it.key
	case history:
		return it.model + " " + it.id + ": its history"
	}
	return strings.TrimSuffix(it.model+" "+it.id+" "+it.name, " ")
}

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

func (in *Inspector) keysOf(items []item) (keys []string, err error) {
	for i := range items {
		key, err := items[i].keyIn(in)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

func (in *Inspector) records(ctx context.Context, m model, p *pacer, f func([]item) error) error {
	return m.IDs(ctx, "", func(ids []string, _ string) error {
		for some := range slices.Chunk(ids, at) {
			items, err := in.itemsOf(ctx, m, some)
			if err == nil {
				err = f(items)
			}
			if err != nil {
				return err
			}
		}
		return p.did(ctx, len(ids), "")
	})
}

// A damaged record is an error: an export must be complete.
func (in *Inspector) itemsOf(ctx context.Context, m model, ids []string) (items []item, err error) {
	var asked []item
	for _, id := range ids {
		asked = append(asked, item{kind: record, model: m.Name(), id: id})
		for _, name := range m.Counters() {
			asked = append(asked, item{kind: counter, model: m.Name(), id: id, name: name})
		}
		if m.KeepsHistory() {
			asked = append(asked, item{kind: history, model: m.Name(), id: id})
		}
	}
	_, results, err := in.stored(ctx, asked)
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

// A deleted record is exported if it has a history or a number.
func (in *Inspector) stays(m model, it *item, err error) (bool, error) {
	if err != nil {
		return false, nil // It is absent; other errors came from GetAll.
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

func (in *Inspector) others(ctx context.Context, p *pacer, f func([]item) error) error {
	isKept := func(key string) bool { _, kept := in.isKept(key); return kept }
	return in.scan(ctx, p, "", isKept, func(found []stored) error {
		var items []item
		for _, at := range found {
			it := item{kind: kept, key: at.key, value: at.value}
			if it.ends, _ = in.isKept(at.key); strings.HasPrefix(at.key, "session:") {
				it.ends = endOfSession(at.value)
			}
			if _, ended, _ := it.lives(in); !ended {
				items = append(items, it)
			}
		}
		return f(items)
	})
}

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

func endOfSession(value []byte) int64 {
	fields, _ := fieldsOf(value)
	for _, f := range fields {
		if at, ok := f.Value.(time.Time); ok && f.Name == "Ends" {
			return at.UnixMilli()
		}
	}
	return 0
}

// A lifetime of 0 means for ever.
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

var errEmpty = errors.New("the database has no models")

// A set has the hashes of texts.
type set map[sum128]struct{}

func (s set) add(text string) bool {
	h := hashOf(text)
	_, was := s[h]
	s[h] = struct{}{}
	return !was
}

func (s set) has(text string) bool {
	_, is := s[hashOf(text)]
	return is
}

func (s set) lacks(text string) bool { return !s.has(text) }

func idIn(m model, id string) string { return m.Name() + ":" + id }

// fresh adds ids of m, and returns the new ones. Numbered ids are listed once.
func (s set) fresh(m model, ids []string) (fresh []string) {
	if m.IsNumbered() {
		return ids
	}
	for _, id := range ids {
		if s.add(idIn(m, id)) {
			fresh = append(fresh, id)
		}
	}
	return fresh
}

func (in *Inspector) those(items []item, want func(key string) bool) (some []item, err error) {
	keys, err := in.keysOf(items)
	for i, key := range keys {
		if want(key) {
			some = append(some, items[i])
		}
	}
	return some, err
}
