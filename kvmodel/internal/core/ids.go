package core

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/internal/built"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const RecordsAtOnce = 100

func (m *Model) builtConfig() built.Config {
	c := built.Config{Store: m.Db.Store, Now: m.Db.Now, Alone: m.Db.Alone, Model: m.Name, Mine: m.Definitions}
	switch {
	case m.Numbers != nil:
		c.Witness = m.Numbers.Key(1)
	case m.IsListed():
		c.Witness, c.All = m.All.FirstKey(), m.All
	default:
		c.Written = m.isWritten
	}
	return c
}

func (m *Model) IsListed() bool { return m.Numbers == nil && m.Db.Walk == nil }

func (m *Model) Archive(ctx context.Context, ids []string) error {
	if !m.IsListed() || len(ids) == 0 {
		return nil
	}
	if err := m.Built.Begun(ctx); err != nil {
		return err
	}
	return m.All.Put(ctx, ids)
}

// EachID calls f with the ids of all possible records, in batches, each once. f returns how many
// exist: if few, they are pruned. An ErrCorrupt comes last.
func (m *Model) EachID(ctx context.Context, f func(ids []string) (live int, err error)) error {
	if m.Numbers != nil {
		last, err := m.Numbers.Last(ctx, m.Db.Store)
		if err != nil {
			return m.Failure("the last number", err)
		}
		return eachNumber(1, last, func(ids []string, _ int64) error {
			_, err := f(ids)
			return err
		})
	}
	all, live := 0, 0
	err := m.EachFrom(ctx, enumeration.Reached{}, func(ids []string, _ enumeration.Reached, _ func() int64) error {
		n, err := f(ids)
		all, live = all+len(ids), live+n
		return err
	})
	if err == nil {
		m.Upkeep(all, live)
	}
	return err
}

// openIDs returns the ids in journal lines, which may be nowhere else, and an error for damaged
// lines. A line goes only after its id is listed, so reading the lines first misses none.
func (m *Model) openIDs(ctx context.Context) (ids []string, damaged, err error) {
	ids, err = journal.CreatedIDs(ctx, m.Db.Store, m.Name)
	if wire.IsCorrupt(err) {
		return ids, err, nil
	}
	return ids, nil, err
}

func (m *Model) Upkeep(all, live int) {
	if m.IsListed() && all > 0 && all >= 2*live {
		m.Db.Soon(func(ctx context.Context) error { return m.All.Prune(ctx, m.alive) })
	}
}

// EachFrom continues a walk at from. f gets the ids of all records that existed when it began, in
// batches, each once, with the position and about how many are left. Numbered ids include those
// beyond a gap.
func (m *Model) EachFrom(ctx context.Context, from enumeration.Reached, f func(ids []string, to enumeration.Reached, left func() int64) error) error {
	if m.Numbers != nil {
		last, err := m.Numbers.Left(ctx, m.Db.Store)
		if err != nil {
			return m.Failure("the last number", err)
		}
		return eachNumber(from.Number+1, last, func(ids []string, to int64) error {
			return f(ids, enumeration.Reached{Number: to}, func() int64 { return last - to })
		})
	}
	if m.Db.Walk != nil {
		if l, err := m.Built.Read(ctx); err != nil || !l.Exists {
			return err
		}
		return m.walkKeys(ctx, from, f)
	}
	open, damaged, err := m.openIDs(ctx)
	if err != nil {
		return err
	}
	l, err := m.Built.Read(ctx)
	if err != nil || !l.Exists {
		return err
	}
	err = m.All.Each(ctx, l.Head, l.Accepted, from, open, func(ids []string, to enumeration.Reached, left int64) error {
		return f(ids, to, func() int64 { return left })
	})
	if err != nil && !wire.IsCorrupt(err) {
		return err
	}
	return wire.JoinCorrupt(damaged, err)
}

func (m *Model) alive(ctx context.Context, ids []string) ([]bool, error) {
	var alive []bool
	for batch := range slices.Chunk(ids, RecordsAtOnce) {
		recs, err := m.See(ctx, m.Db.Store, batch)
		if recs == nil {
			return nil, err
		}
		for _, rec := range recs {
			alive = append(alive, rec.Value != nil || rec.Damaged())
		}
	}
	return alive, nil
}

func (m *Model) Accept(ctx context.Context) error {
	if err := m.AcceptNumbers(ctx); err != nil {
		return err
	}
	return m.Failure("accept", m.Built.Accept(ctx))
}

func (m *Model) Distrust(ctx context.Context) error {
	_, err := m.Built.Distrust(ctx)
	return err
}

func Living(recs []*plug.Seen) (n int) {
	for _, rec := range recs {
		if rec.Value != nil || rec.Damaged() {
			n++
		}
	}
	return n
}

func eachNumber(first, last int64, f func(ids []string, to int64) error) error {
	for ; first <= last; first += RecordsAtOnce {
		var ids []string
		to := min(last, first+RecordsAtOnce-1)
		for n := first; n <= to; n++ {
			ids = append(ids, strconv.FormatInt(n, 10))
		}
		if err := f(ids, to); err != nil {
			return err
		}
	}
	return nil
}

// On a store that walks keys in order, a record is written under its own key only, and a walk sees
// it once it is committed.

type walker = func(ctx context.Context, begin, after string, f func(keys []string) error) error

var ErrStop = errors.New("stop")

// idMark holds the id of a record with a hashed key.
const idMark = "#id"

// walkKeys is EachFrom along the keys of the records. A walk that continues does not skip
// unreadable ids, which the ErrCorrupt names.
func (m *Model) walkKeys(ctx context.Context, from enumeration.Reached, f func(ids []string, to enumeration.Reached, left func() int64) error) error {
	rest, counted := int64(0), false
	var damaged error
	err := m.Db.Walk(ctx, m.Keys[0].Begin(), from.Key, func(keys []string) error {
		for some := range slices.Chunk(keys, RecordsAtOnce) {
			ids, unread, err := m.idsOf(ctx, some)
			if err != nil {
				return err
			}
			last := some[len(some)-1]
			if damaged = wire.JoinCorrupt(damaged, unread); damaged == nil {
				from.Key = last
			}
			rest -= int64(len(some))
			left := func() int64 {
				if !counted {
					rest, counted = m.countKeys(ctx, last), true
				}
				return max(rest, 0)
			}
			if err := f(ids, from, left); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return damaged
}

func (m *Model) countKeys(ctx context.Context, after string) (n int64) {
	_ = m.Db.Walk(ctx, m.Keys[0].Begin(), after, func(keys []string) error {
		n += int64(len(keys))
		return nil
	})
	return n
}

func (m *Model) isWritten(ctx context.Context) (bool, error) {
	err := m.walkKeys(ctx, enumeration.Reached{}, func(ids []string, _ enumeration.Reached, _ func() int64) error {
		if len(ids) > 0 {
			return ErrStop
		}
		return nil
	})
	if errors.Is(err, ErrStop) || wire.IsCorrupt(err) {
		return true, nil
	}
	return false, err
}

// idsOf names in damaged the hashed keys whose records do not contain their ids.
func (m *Model) idsOf(ctx context.Context, keys []string) (ids []string, damaged, err error) {
	var hashed []string
	for _, key := range keys {
		if id := m.Keys[0].Text(key); id != "" {
			ids = append(ids, id)
		} else if kv.IsHashed(key) {
			hashed = append(hashed, key)
		}
	}
	if len(hashed) == 0 {
		return ids, nil, nil
	}
	results, err := kv.GetAll(ctx, m.Db.Store, hashed...)
	if err != nil {
		return nil, nil, err
	}
	for i, key := range hashed {
		id, err := idIn(results[i])
		switch {
		case errors.Is(err, kv.ErrNotFound):
		case wire.IsCorrupt(err):
			damaged = wire.JoinCorrupt(damaged, wire.Corrupt(key, err))
		case err != nil:
			return nil, nil, err
		case m.Key(id) == key: // Keys of models with long names begin alike.
			ids = append(ids, id)
		}
	}
	return ids, damaged, nil
}

func idIn(r kv.Result) (string, error) {
	if r.Err != nil {
		return "", r.Err
	}
	env, err := envelope.Decode(r.Value)
	if err != nil {
		return "", err
	}
	id := env.Mark(idMark)
	if id == nil {
		return "", fmt.Errorf("%w: it does not contain its id", codec.ErrCorrupt)
	}
	return string(id), nil
}

func (m *Model) AcceptNumbers(ctx context.Context) error {
	if m.Numbers == nil {
		return nil
	}
	tombstone := envelope.Envelope{Deleted: true, Model: m.Version, Rev: m.revAbove()}
	_, err := m.Numbers.Accept(ctx, m.Db.Store, tombstone.Encode(nil))
	return m.Failure("the last number", err)
}

// FillGaps creates tombstones for the missing numbered records among recs, with revs above any
// remaining entry.
func (m *Model) FillGaps(ctx context.Context, s kv.Store, recs []*plug.Seen) error {
	gone := slices.DeleteFunc(slices.Clone(recs), func(rec *plug.Seen) bool { return rec.Version != 0 })
	return work.FirstError(kv.Each(ctx, s, gone, func(s kv.Store, _ int, rec *plug.Seen) error {
		err := m.Fence(ctx, s, rec, m.revAbove())
		if errors.Is(err, kv.ErrConflict) {
			return nil // it exists now
		}
		return err
	})...)
}
