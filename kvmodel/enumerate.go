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
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// recordsAtOnce is how many records are read in one trip of an enumeration.
const recordsAtOnce = 100

// builtConfig returns what the built item needs of m. What is not removed any more
// once it is there: the first chunk of ids, and record 1 where ids are numbers.
func (m *model) builtConfig() built.Config {
	witness := m.all.FirstKey()
	if m.numbers != nil {
		witness = m.numbers.Key(1)
	}
	return built.Config{
		Store: m.db.store, Now: m.db.now, Atomic: m.db.atomic, Model: m.name, All: m.all, Witness: witness, Mine: m.definitions,
		Rings: m.rings,
	}
}

// archive puts ids into the enumeration, or those alone that another process has not put
// there. Numbered records need none: the last number says which there are.
func (m *model) archive(ctx context.Context, ids []string, missing bool) error {
	if m.numbers != nil || len(ids) == 0 {
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
		if err = m.built.Mend(ctx, m.db.store); err == nil {
			err = put(ctx, m.db.store, ids)
		}
	}
	return err
}

// list adds the id to the enumeration in the transaction s.
func (m *model) list(ctx context.Context, s kv.Store, id string) (enumeration.Growth, error) {
	grown, err := m.all.Add(ctx, s, []string{id})
	if wire.IsCorrupt(err) {
		if err = m.built.Mend(ctx, s); err == nil {
			grown, err = m.all.Add(ctx, s, []string{id})
		}
	}
	return grown, err
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

// openIDs returns the ids that are in lines, and what is damaged of these. A line is deleted
// only after its id is in a chunk, so to read the lines before the chunks is to miss none.
// Numbered records need no lines.
func (m *model) openIDs(ctx context.Context) (ids []string, damaged, err error) {
	if m.numbers != nil {
		return nil, nil, nil
	}
	ids, err = journal.CreatedIDs(ctx, m.db.store, m.name)
	if wire.IsCorrupt(err) {
		return ids, err, nil
	}
	return ids, nil, err
}

// upkeep compacts the enumeration in the background if few of the ids of a walk are live, and
// mends what the walk has found.
func (m *model) upkeep(walked enumeration.Walked, live int) {
	if len(walked.Mended) > 0 {
		m.db.Soon(func(ctx context.Context) error { return m.all.Mend(ctx, m.db.store, walked.Mended) })
	}
	switch {
	case walked.IDs > 0 && walked.IDs >= 2*live:
		m.db.Soon(func(ctx context.Context) error { return m.all.Compact(ctx, m.db.store, m.alive) })
	case walked.Empty:
		m.db.Soon(func(ctx context.Context) error { return m.all.Leave(ctx, m.db.store) })
	}
}

// eachFrom calls f with the ids of all records that were there when a walk began which
// has reached from, in batches, with how far that goes, and with about how many are left.
// Where ids are numbers that includes those beyond the gaps of a loss.
func (m *model) eachFrom(ctx context.Context, from enumeration.Reached, f func(ids []string, to enumeration.Reached, left int64) error) (walked enumeration.Walked, err error) {
	if m.numbers != nil {
		last, err := m.numbers.Left(ctx, m.db.store)
		if err != nil {
			return walked, m.failure("the last number", err)
		}
		return walked, eachNumber(from.Chunk+1, last, func(ids []string, to int64) error {
			return f(ids, enumeration.Reached{Chunk: to}, last-to)
		})
	}
	head, exists, err := m.built.Head(ctx)
	if err != nil || !exists {
		return walked, err
	}
	return m.all.From(ctx, m.db.store, head, from, f)
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
