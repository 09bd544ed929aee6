package keytree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

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
	return t.SetAll(ctx, s, own, []Setting{{id, change}}, due)[0]
}

// Setting is what to change of a member.
type Setting struct {
	ID     string
	Change Change
}

// SetAll does what Set does for several members, side by side, and writes their
// entries in one leaf together. It returns an error for each. One that fails does
// not hold up the others, and what is done stays done.
func (t *Tree) SetAll(ctx context.Context, s kv.Store, own *Own, settings []Setting, due *Due) []error {
	moves := make([]*move, len(settings))
	for i, set := range settings {
		moves[i] = &move{own: own, id: set.ID, change: set.Change, err: errAgain}
		if len(set.ID) > MaxID {
			moves[i].err = tooLong(set.ID)
		}
	}
	read := func(s kv.Store) error {
		kv.Each(ctx, s, left(moves), func(s kv.Store, _ int, m *move) error { return m.read(ctx, s) })
		return nil
	}
	err := t.begin(ctx, s, func(ep *epochs) error {
		for try := range setTries {
			if try > 0 {
				if err := pause(ctx, try); err != nil {
					return err
				}
				_ = read(s)
			}
			b := &batch{ep, due}
			b.run(ctx, s, left(moves))
			if err := began(moves); err != nil || len(left(moves)) == 0 {
				return err
			}
		}
		return fmt.Errorf("%w: %d tries lost against others", kv.ErrConflict, setTries)
	}, read)
	errs := make([]error, len(moves))
	for i, m := range moves {
		if errs[i] = m.err; m.unfinished() {
			errs[i] = err
		}
	}
	return errs
}

// left returns those of moves that are to be tried.
func left(moves []*move) []*move {
	return slices.DeleteFunc(slices.Clone(moves), func(m *move) bool { return !m.unfinished() })
}

// began returns why the operation must begin again, if one of moves says so.
func began(moves []*move) error {
	for _, m := range moves {
		if errors.Is(m.err, errLate) || errors.Is(m.err, errRootLost) {
			return m.err
		}
	}
	return nil
}

// move brings a member from one state to another.
type move struct {
	own    *Own
	id     string
	change Change
	old    record
	new    State  // made for the record from
	from   record // before new
	err    error  // how the last try ended
}

// unfinished reports whether the move is to be tried, for the first time or again.
func (m *move) unfinished() bool {
	return again(m.err) || errors.Is(m.err, errLate) || errors.Is(m.err, errRootLost)
}

func (m *move) read(ctx context.Context, s kv.Store) error {
	old, err := m.own.read(ctx, s, m.id)
	if m.old = old; err != nil {
		m.err = err
	}
	return err
}

// choose works out the new state. It reports whether that is another one. A state
// that was chosen for the record as it still is stays as it is, and so does its entry.
func (m *move) choose(ctx context.Context, s kv.Store) (bool, error) {
	score, in, err := m.change(ctx, s, m.old.State)
	if err != nil || in == m.old.In && (!in || score == m.old.Score) {
		return false, err
	}
	if m.new.Ver > m.old.Ver && m.from == m.old && m.new.In == in && m.new.Score == score {
		return true, nil
	}
	m.new, m.from = m.own.next(m.old, in, score), m.old
	return true, nil
}

// batch is one try of several moves.
type batch struct {
	*epochs
	due *Due
}

// run tries moves. All of them take a step before any takes the next.
func (b *batch) run(ctx context.Context, s kv.Store, moves []*move) {
	moves = b.choose(ctx, s, moves)
	b.insert(ctx, s, moves)
	moves = slices.DeleteFunc(moves, func(m *move) bool { return m.err != nil })
	leaving := slices.DeleteFunc(slices.Clone(moves), b.stays)
	leaves := b.commit(ctx, s, moves, leaving)
	b.clean(ctx, s, leaving, leaves)
	b.lost(ctx, s, moves)
}

// stays reports whether m leaves no entry in another leaf, as far as is known.
func (b *batch) stays(m *move) bool {
	return !m.old.In || m.new.In && b.sameLeaf(m.id, m.old.Score, m.new.Score)
}

// choose has moves choose, and returns those that change something.
func (b *batch) choose(ctx context.Context, s kv.Store, moves []*move) []*move {
	changes := make(map[*move]bool)
	kv.Each(ctx, s, moves, func(s kv.Store, _ int, m *move) error {
		changes[m], m.err = m.choose(ctx, s)
		return nil
	})
	return slices.DeleteFunc(slices.Clone(moves), func(m *move) bool { return !changes[m] })
}

// insert adds the new entries of moves.
func (b *batch) insert(ctx context.Context, s kv.Store, moves []*move) {
	entering := slices.DeleteFunc(slices.Clone(moves), func(m *move) bool { return !m.new.In })
	_ = b.each(ctx, s, b.due, func(s kv.Store, p *nodes, due *reports) error {
		puts := make([]*edit, len(entering))
		for i, m := range entering {
			puts[i] = p.putting(m.id, m.old.State, m.new.Score, m.new.Ver)
		}
		p.edit(ctx, s, puts, nil, due)
		for i, m := range entering {
			m.err = cmp.Or(m.err, puts[i].err)
		}
		return nil
	})
}

// commit writes the records of moves. In the same trip it reads, for each epoch, the
// leaves to remove the old entries of leaving from; nil where that fails.
func (b *batch) commit(ctx context.Context, s kv.Store, moves, leaving []*move) (leaves [][]*spot) {
	works := make([]func(kv.Store) error, len(moves))
	for i, m := range moves {
		works[i] = func(s kv.Store) error { m.err = m.writeRecord(ctx, s, b.epochs); return nil }
	}
	leaves = make([][]*spot, len(b.write))
	for i, p := range b.write {
		var points []point
		for _, m := range leaving {
			points = append(points, p.point(m.old.Score, m.id))
		}
		if len(points) > 0 {
			works = append(works, func(s kv.Store) error { leaves[i], _ = p.find(ctx, s, points...); return nil })
		}
	}
	kv.Together(ctx, s, works...)
	return leaves
}

// writeRecord writes the new record, and reads it if the outcome is unclear.
// errAgain: the record has changed. ErrUnclear: the record was either written and
// overwritten since, or not written.
func (m *move) writeRecord(ctx context.Context, s kv.Store, ep *epochs) error {
	if ep.read.late() {
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

// lost cleans up after those of moves that did not commit, if it can.
func (b *batch) lost(ctx context.Context, s kv.Store, moves []*move) {
	lost := slices.DeleteFunc(slices.Clone(moves), func(m *move) bool { return !again(m.err) || !m.new.In })
	kv.Each(ctx, s, lost, func(s kv.Store, _ int, m *move) error {
		if err := b.takeBack(ctx, s, m); err != nil {
			m.err = err
		}
		return nil
	})
}

// takeBack removes the entry that m has added, unless the record confirms it or may
// still do so.
func (b *batch) takeBack(ctx context.Context, s kv.Store, m *move) error {
	now, err := m.own.read(ctx, s, m.id)
	if err != nil {
		return err
	}
	if err := b.remove(ctx, s, b.due, m.id, m.new.Score, now.State); !again(err) {
		return err
	}
	return nil
}

// clean removes the old entries of those of leaving that have committed, if it can.
// leaves are where they were when the records were written.
func (b *batch) clean(ctx context.Context, s kv.Store, leaving []*move, leaves [][]*spot) {
	_ = each(ctx, s, b.write, func(s kv.Store, epoch int, p *nodes) error {
		var edits []*edit
		var at []*spot
		for i, m := range leaving {
			if m.err != nil {
				continue
			}
			edits = append(edits, &edit{point: p.point(m.old.Score, m.id), id: m.id, known: m.new})
			if leaves[epoch] != nil {
				at = append(at, leaves[epoch][i])
			}
		}
		p.edit(ctx, s, edits, at, b.due.to(p))
		return nil
	})
}
