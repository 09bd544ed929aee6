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
	"github.com/ringtree/ringtree/kvmodel/internal/work"
)

// recordsAtOnce is how many records are read in one trip of an enumeration.
const recordsAtOnce = 100

// builtConfig returns what the built item needs of m. Its witness is what is not removed any
// more once it is there, such as the first chunk of ids, or else any record.
func (m *model) builtConfig() built.Config {
	c := built.Config{
		Store: m.db.store, Now: m.db.now, Atomic: m.db.atomic, Alone: m.db.alone, Model: m.name, All: m.all, Mine: m.definitions,
	}
	switch {
	case m.numbers != nil:
		c.Witness = m.numbers.Key(1)
	case m.isListed():
		c.Witness = m.all.FirstKey()
	default:
		c.Written = m.isWritten
	}
	return c
}

// isListed reports whether the ids of m stand in its enumeration. Where ids are numbers, the
// last one says which there are, and a store that names keys in order names those of records.
func (m *model) isListed() bool { return m.numbers == nil && m.db.walk == nil }

// archive puts ids into the enumeration, or those alone that another process has not put
// there.
func (m *model) archive(ctx context.Context, ids []string, missing bool) error {
	if !m.isListed() || len(ids) == 0 {
		return nil
	}
	if err := m.built.Begun(ctx); err != nil {
		return err
	}
	put := m.all.Put
	if missing {
		put = m.all.PutMissing
	}
	err := put(ctx, m.db.store, ids)
	if wire.IsCorrupt(err) {
		if err = m.built.Mend(ctx); err == nil {
			err = put(ctx, m.db.store, ids)
		}
	}
	return err
}

// eachID calls f with the ids of all records there may be, in batches, each id
// once. f returns how many of the records exist: if that is few, the enumeration is
// compacted in the background. An ErrCorrupt comes when the others were given.
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
	if !m.isListed() {
		_, err := m.eachFrom(ctx, enumeration.Reached{}, func(ids []string, _ enumeration.Reached, _ func() int64) error {
			_, err := f(ids)
			return err
		})
		return err
	}
	open, damaged, err := m.openIDs(ctx)
	if err != nil {
		return err
	}
	head, exists, err := m.built.Head(ctx)
	if err != nil || !exists {
		return err
	}
	live := 0
	walked, err := m.all.Each(ctx, m.db.store, head, open, func(ids []string) error {
		n, err := f(ids)
		live += n
		return err
	})
	if err == nil && head.Exists() {
		m.upkeep(walked, live)
	}
	return work.FirstError(err, damaged)
}

// openIDs returns the ids that are in lines and perhaps nowhere else, and what is damaged of
// these. A line is deleted only after its id is in a chunk, so to read the lines before the
// chunks is to miss none.
func (m *model) openIDs(ctx context.Context) (ids []string, damaged, err error) {
	if !m.isListed() {
		return nil, nil, nil
	}
	ids, err = journal.CreatedIDs(ctx, m.db.store, m.name)
	if wire.IsCorrupt(err) {
		return ids, err, nil
	}
	return ids, nil, err
}

// upkeep compacts the enumeration in the background if few of the ids of a walk are live.
func (m *model) upkeep(walked enumeration.Walked, live int) {
	switch {
	case walked.IDs > 0 && walked.IDs >= 2*live:
		m.db.Soon(func(ctx context.Context) error { return m.all.Compact(ctx, m.db.store, m.alive) })
	case walked.Empty:
		m.db.Soon(func(ctx context.Context) error { return m.all.Leave(ctx, m.db.store) })
	}
}

// eachFrom calls f with the ids of all records that were there when a walk began which
// has reached from, in batches, with how far that goes, and with a func that says about how
// many are left. Where ids are numbers that includes those beyond the gaps of a loss.
func (m *model) eachFrom(ctx context.Context, from enumeration.Reached, f func(ids []string, to enumeration.Reached, left func() int64) error) (walked enumeration.Walked, err error) {
	if m.numbers != nil {
		last, err := m.numbers.Left(ctx, m.db.store)
		if err != nil {
			return walked, m.failure("the last number", err)
		}
		return walked, eachNumber(from.Chunk+1, last, func(ids []string, to int64) error {
			return f(ids, enumeration.Reached{Chunk: to}, func() int64 { return last - to })
		})
	}
	head, exists, err := m.built.Head(ctx)
	if err != nil || !exists {
		return walked, err
	}
	if m.db.walk != nil {
		return walked, m.walkKeys(ctx, from, f)
	}
	return m.all.From(ctx, m.db.store, head, from, func(ids []string, to enumeration.Reached, left int64) error {
		return f(ids, to, func() int64 { return left })
	})
}

// alive reports which of the records with ids exist, or may, since they are damaged.
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

// accept takes what the store has lost of the enumeration and of the built item for
// lost.
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

// living returns how many of recs exist, or may.
func living(recs []*plug.Seen) (n int) {
	for _, rec := range recs {
		if rec.Value != nil || rec.Damaged() {
			n++
		}
	}
	return n
}

// eachNumber calls f with the ids from first to last, in batches, with the last number of
// the batch.
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
