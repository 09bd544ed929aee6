package kvmodel

import (
	"context"
	"slices"
	"strconv"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/internal/built"
	"github.com/ringtree/ringtree/kvmodel/internal/enumeration"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
)

// recordsAtOnce is the number of records read in one trip of an enumeration.
const recordsAtOnce = 100

// builtConfig returns the configuration of m's built item. The witness is an item that is never
// removed once it exists, such as the first segment of the list of ids, or otherwise any record.
func (m *model) builtConfig() built.Config {
	c := built.Config{Store: m.db.store, Now: m.db.now, Alone: m.db.alone, Model: m.name, Mine: m.definitions}
	switch {
	case m.numbers != nil:
		c.Witness = m.numbers.Key(1)
	case m.isListed():
		c.Witness, c.All = m.all.FirstKey(), m.all
	default:
		c.Written = m.isWritten
	}
	return c
}

// isListed reports whether the ids of m are stored in its enumeration. Numbered ids follow from the
// last number, and a store that walks keys in order finds records by their keys.
func (m *model) isListed() bool { return m.numbers == nil && m.db.walk == nil }

// archive adds ids to the enumeration.
func (m *model) archive(ctx context.Context, ids []string) error {
	if !m.isListed() || len(ids) == 0 {
		return nil
	}
	if err := m.built.Begun(ctx); err != nil {
		return err
	}
	return m.all.Put(ctx, m.db.store, ids)
}

// eachID calls f with the ids of all possible records, in batches, each id once. f returns how many
// of the records exist: if few do, the other ids are removed from the enumeration in the
// background. An ErrCorrupt comes after all other ids.
func (m *model) eachID(ctx context.Context, f func(ids []string) (live int, err error)) error {
	if m.numbers != nil {
		last, err := m.numbers.Last(ctx, m.db.store)
		if err != nil {
			return m.failure("the last number", err)
		}
		return eachNumber(1, last, func(ids []string, _ int64) error {
			_, err := f(ids)
			return err
		})
	}
	all, live := 0, 0
	err := m.eachFrom(ctx, enumeration.Reached{}, func(ids []string, _ enumeration.Reached, _ func() int64) error {
		n, err := f(ids)
		all, live = all+len(ids), live+n
		return err
	})
	if err == nil {
		m.upkeep(all, live)
	}
	return err
}

// openIDs returns the ids in journal lines, which may be nowhere else, and an error for damaged
// lines. A line is deleted only after its id is in the enumeration, so reading the lines first
// misses none.
func (m *model) openIDs(ctx context.Context) (ids []string, damaged, err error) {
	ids, err = journal.CreatedIDs(ctx, m.db.store, m.name)
	if wire.IsCorrupt(err) {
		return ids, err, nil
	}
	return ids, nil, err
}

// upkeep prunes the enumeration in the background if few of the ids of a walk are live.
func (m *model) upkeep(all, live int) {
	if m.isListed() && all > 0 && all >= 2*live {
		m.db.Soon(func(ctx context.Context) error { return m.all.Prune(ctx, m.db.store, m.alive) })
	}
}

// eachFrom continues a walk at from. It calls f with the ids of all records that existed when the
// walk began, in batches, each id once, with the position reached and a func that returns about how
// many are left. Numbered ids include those beyond the gaps of a loss.
func (m *model) eachFrom(ctx context.Context, from enumeration.Reached, f func(ids []string, to enumeration.Reached, left func() int64) error) error {
	if m.numbers != nil {
		last, err := m.numbers.Left(ctx, m.db.store)
		if err != nil {
			return m.failure("the last number", err)
		}
		return eachNumber(from.Number+1, last, func(ids []string, to int64) error {
			return f(ids, enumeration.Reached{Number: to}, func() int64 { return last - to })
		})
	}
	if m.db.walk != nil {
		if _, _, exists, err := m.built.Head(ctx); err != nil || !exists {
			return err
		}
		return m.walkKeys(ctx, from, f)
	}
	open, damaged, err := m.openIDs(ctx)
	if err != nil {
		return err
	}
	head, isAccepted, exists, err := m.built.Head(ctx)
	if err != nil || !exists {
		return err
	}
	err = m.all.Each(ctx, m.db.store, head, isAccepted, from, open, func(ids []string, to enumeration.Reached, left int64) error {
		return f(ids, to, func() int64 { return left })
	})
	if err != nil && !wire.IsCorrupt(err) {
		return err
	}
	return wire.JoinCorrupt(damaged, err)
}

// alive reports which of the records with ids exist or, being damaged, may exist.
func (m *model) alive(ctx context.Context, ids []string) ([]bool, error) {
	var alive []bool
	for batch := range slices.Chunk(ids, recordsAtOnce) {
		recs, err := m.see(ctx, m.db.store, batch)
		if recs == nil {
			return nil, err
		}
		for _, rec := range recs {
			alive = append(alive, rec.Value != nil || rec.Damaged())
		}
	}
	return alive, nil
}

// accept acknowledges the loss of parts of the enumeration and of the built item.
func (m *model) accept(ctx context.Context) error {
	if err := m.acceptNumbers(ctx); err != nil {
		return err
	}
	return m.failure("accept", m.built.Accept(ctx))
}

func (m *model) distrust(ctx context.Context) error {
	_, err := m.built.Distrust(ctx)
	return err
}

// living returns how many of recs exist or, being damaged, may exist.
func living(recs []*plug.Seen) (n int) {
	for _, rec := range recs {
		if rec.Value != nil || rec.Damaged() {
			n++
		}
	}
	return n
}

// eachNumber calls f with the ids from first to last, in batches, with the last number of each.
func eachNumber(first, last int64, f func(ids []string, to int64) error) error {
	for ; first <= last; first += recordsAtOnce {
		var ids []string
		to := min(last, first+recordsAtOnce-1)
		for n := first; n <= to; n++ {
			ids = append(ids, strconv.FormatInt(n, 10))
		}
		if err := f(ids, to); err != nil {
			return err
		}
	}
	return nil
}
