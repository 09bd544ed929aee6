package keytree

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Change returns the new score of a member, or false to remove it, given the state
// it is in. What it reads for that is not older than the state. It may be called
// more than once.
type Change func(ctx context.Context, s kv.Store, old State) (score Score, in bool, err error)

// To is the change that gives a member score s.
func To(s Score) Change {
	return func(context.Context, kv.Store, State) (Score, bool, error) { return s, true, nil }
}

// Out is the change that removes a member.
func Out(context.Context, kv.Store, State) (Score, bool, error) { return 0, false, nil }

const setTries = 16

// Set changes the member id of a tree with records of its own, own, and adds to due
// what must be reported.
//
// It adds the new entry first, then writes the record, then removes the old entry.
// So a member that is in is never missing, and a crash leaves at most an entry that
// its record does not confirm.
//
// After an error other than ErrUnclear the member is as it was. Failing to clean up
// once the record is written is not an error: a query that meets the old entry has
// it removed.
func (t *Tree) Set(ctx context.Context, s kv.Store, own *Own, id string, change Change, due *Due) error {
	if len(id) > MaxID {
		return tooLong(id)
	}
	var old record
	read := func(s kv.Store) (err error) { old, err = own.read(ctx, s, id); return err }
	return t.begin(ctx, s, func(ep *epochs) error {
		for try := range setTries {
			if try > 0 {
				if err := pause(ctx, try); err != nil {
					return err
				}
				if err := read(s); err != nil {
					return err
				}
			}
			m := &move{epochs: ep, own: own, id: id, old: old, due: due}
			if err := m.run(ctx, s, change); !again(err) {
				return err
			}
		}
		return fmt.Errorf("%w: %d tries lost against others", kv.ErrConflict, setTries)
	}, read)
}

// move is one attempt to bring a member from one state to another.
type move struct {
	*epochs
	own *Own
	id  string
	old record
	new State
	due *Due
}

func (m *move) run(ctx context.Context, s kv.Store, change Change) error {
	score, in, err := change(ctx, s, m.old.State)
	if err != nil {
		return err
	}
	if in == m.old.In && (!in || score == m.old.Score) {
		return nil
	}
	m.new = m.own.next(m.old, in, score)
	if in {
		if err := m.insert(ctx, s, m.due, m.id, m.old.State, score, m.new.Ver); err != nil {
			return err
		}
	}
	leaves, err := m.commit(ctx, s)
	if err != nil {
		return m.lost(ctx, s, err)
	}
	m.clean(ctx, s, leaves)
	return nil
}

// commit writes the record, and reads in the same trip the leaves to remove the old
// entry from; nil where that is not needed or fails.
func (m *move) commit(ctx context.Context, s kv.Store) (leaves []*spot, err error) {
	works := []func(kv.Store) error{func(s kv.Store) error { return m.writeRecord(ctx, s) }}
	if m.old.In && !(m.new.In && m.sameLeaf(m.id, m.old.Score, m.new.Score)) {
		leaves = make([]*spot, len(m.write))
		for i, p := range m.write {
			works = append(works, func(s kv.Store) (err error) {
				leaves[i], err = p.find(ctx, s, p.point(m.old.Score, m.id))
				return err
			})
		}
	}
	return leaves, kv.Together(ctx, s, works...)[0]
}

// writeRecord writes the new record, and reads it if the outcome is unclear.
// errAgain: the record has changed. ErrUnclear: the record was either written and
// overwritten since, or not written.
func (m *move) writeRecord(ctx context.Context, s kv.Store) error {
	if m.read.late() {
		return errLate
	}
	unclear := false
	for range maxTries {
		err := m.own.write(ctx, s, m.id, m.old, m.new)
		switch {
		case errors.Is(err, kv.ErrUnclear) && ctx.Err() == nil:
			unclear = true
		case kv.Raced(err) && !unclear:
			return errAgain
		case !kv.Raced(err):
			return err
		}
		now, err := m.own.read(ctx, s, m.id)
		switch {
		case err != nil:
			return fmt.Errorf("%w: %w", kv.ErrUnclear, err)
		case now.version == m.old.version:
			continue
		case now.State == m.new:
			return nil
		default:
			return fmt.Errorf("%w: the member %s has changed since", kv.ErrUnclear, m.id)
		}
	}
	return kv.ErrUnclear
}

// lost cleans up after a commit that failed with err, if it can: it removes the
// entry unless the record confirms it or may still do so.
func (m *move) lost(ctx context.Context, s kv.Store, err error) error {
	if !again(err) || !m.new.In {
		return err
	}
	now, failed := m.own.read(ctx, s, m.id)
	if failed != nil {
		return failed
	}
	if failed := m.remove(ctx, s, m.due, m.id, m.new.Score, now.State); failed != nil && !again(failed) {
		return failed
	}
	return err
}

// clean removes the old entry, if it can.
func (m *move) clean(ctx context.Context, s kv.Store, leaves []*spot) {
	_ = each(ctx, s, leaves, func(s kv.Store, i int, at *spot) error {
		p := m.write[i]
		e := &edit{point: p.point(m.old.Score, m.id), id: m.id, known: m.new}
		return p.edit(ctx, s, e, at, m.due.to(p))
	})
}
