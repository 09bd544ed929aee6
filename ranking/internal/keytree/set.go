package keytree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Change returns the state that a member should be in, given the one it is in; its
// version is of no account. What it reads for that is not older than the state. It may
// be called more than once.
type Change func(ctx context.Context, s kv.Store, old State) (to State, err error)

// To is the change that gives a member score s.
func To(s Score) Change {
	return func(context.Context, kv.Store, State) (State, error) { return State{In: true, Score: s}, nil }
}

// Out is the change that removes a member.
func Out(context.Context, kv.Store, State) (State, error) { return State{}, nil }

const setTries = 16

// Set changes the member id of a tree with records of its own, own, and adds to due
// what must be reported.
//
// It adds the new entry first, then writes the record, then tidies: only then does
// the new entry count, and the old one goes. So a member that is in is never
// missing, and what has not happened counts nowhere.
//
// After an error other than ErrUnclear the member is as it was. Failing to tidy once
// the record is written is not an error: it is added to due.
func (t *Tree) Set(ctx context.Context, s kv.Store, own *Own, id string, change Change, due *Due) error {
	return t.SetAll(ctx, s, own, []Setting{{ID: id, Change: change}}, due)[0]
}

// Setting is what to change of a member.
type Setting struct {
	ID     string
	Change Change
	Fence  Fence
}

// Fence says whether the record of a member that stays as it is gets a new version.
// Then a change that has looked earlier, and is about to write what it has seen, looks
// again.
type Fence int

const (
	NoFence    Fence = iota
	FenceThere       // if there is a record
	FenceAll         // also if there is none
)

// SetAll does what Set does for several members, side by side, and writes their
// entries in one leaf together. It returns an error for each. One that fails does
// not hold up the others, and what is done stays done.
func (t *Tree) SetAll(ctx context.Context, s kv.Store, own *Own, settings []Setting, due *Due) []error {
	if n := len(settings); n > 1 && bytesOf(settings) > notedBytes {
		return append(t.SetAll(ctx, s, own, settings[:n/2], due), t.SetAll(ctx, s, own, settings[n/2:], due)...)
	}
	moves := make([]*move, len(settings))
	for i, set := range settings {
		moves[i] = &move{own: own, id: set.ID, change: set.Change, fence: set.Fence, err: errAgain}
		if len(set.ID) > MaxID {
			moves[i].err = tooLong(set.ID)
		}
	}
	read := func(s kv.Store) error {
		kv.Each(ctx, s, left(moves), func(s kv.Store, _ int, m *move) error { return m.read(ctx, s) })
		return nil
	}
	err := t.begin(ctx, s, func(ep *epochs) error {
		b := &batch{ep, t, own, due}
		err := b.tryAll(ctx, s, moves, read)
		b.giveUp(ctx, s, moves)
		return err
	}, read)
	errs := make([]error, len(moves))
	for i, m := range moves {
		if errs[i] = m.err; m.unfinished() {
			errs[i] = err
		}
	}
	return errs
}

// notedBytes bounds what is noted at once, since a journal's segment must hold it.
const notedBytes = 256 << 10

// bytesOf returns about how long a note about settings is.
func bytesOf(settings []Setting) int {
	n := 0
	for _, set := range settings {
		n += len(set.ID) + 24
	}
	return n
}

// left returns those of moves that are to be tried.
func left(moves []*move) []*move {
	return slices.DeleteFunc(slices.Clone(moves), func(m *move) bool { return !m.unfinished() })
}

// began returns why the operation must begin again, if one of moves says so.
func began(moves []*move) error {
	for _, m := range moves {
		if !again(m.err) && m.unfinished() {
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
	fence  Fence
	old    record
	stays  bool   // new is what the member is in
	new    State  // made for the record from
	from   record // before new
	err    error  // how the last try ended

	touched []Score // where some try has added an entry, or an old one goes
	past    uint64  // the greatest version of these tries
}

// unfinished reports whether the move is to be tried, for the first time or again.
func (m *move) unfinished() bool {
	var loss *lossError
	return again(m.err) || errors.Is(m.err, errLate) || errors.As(m.err, &loss)
}

func (m *move) read(ctx context.Context, s kv.Store) error {
	old, err := m.own.read(ctx, s, m.id)
	if m.old = old; err != nil {
		m.err = err
	}
	return err
}

// choose works out the new state. It reports whether the record is to be written. A
// state that was chosen for the record as it still is stays as it is, and so does its
// entry. The version of a new one is greater than those of all earlier tries, so that
// what they have left is tidied with it.
func (m *move) choose(ctx context.Context, s kv.Store) (bool, error) {
	to, err := m.change(ctx, s, m.old.State)
	m.stays = to.same(m.old.State)
	if err != nil || m.stays && !m.fences() {
		return false, err
	}
	if m.new.Ver > m.old.Ver && m.from == m.old && to.same(m.new) {
		return true, nil
	}
	m.new, m.from = m.own.next(m.old, to), m.old
	m.new.Ver = max(m.new.Ver, m.past+1)
	m.past = m.new.Ver
	if !m.stays {
		m.touch(m.old.State)
		m.touch(m.new)
	}
	return true, nil
}

// fences reports whether the record is written although the member stays as it is.
func (m *move) fences() bool {
	return m.fence == FenceAll || m.fence == FenceThere && m.old.version != 0
}

// touch notes where a member in state st has its entry.
func (m *move) touch(st State) {
	if st.In && !slices.Contains(m.touched, st.Score) {
		m.touched = append(m.touched, st.Score)
	}
}

// batch is several moves.
type batch struct {
	*epochs
	tree *Tree
	own  *Own
	due  *Due
}

// tryAll tries moves until none is left.
func (b *batch) tryAll(ctx context.Context, s kv.Store, moves []*move, read func(kv.Store) error) error {
	for try := range setTries {
		if try > 0 {
			if err := pause(ctx, s, try); err != nil {
				return err
			}
			_ = read(s)
		}
		b.try(ctx, s, left(moves))
		if err := began(moves); err != nil || len(left(moves)) == 0 {
			return err
		}
	}
	return fmt.Errorf("%w: %d tries lost against others", kv.ErrConflict, setTries)
}

// try tries moves once. All of them take a step before any takes the next.
func (b *batch) try(ctx context.Context, s kv.Store, moves []*move) {
	moves = b.choose(ctx, s, moves)
	b.prepare(ctx, s, moves)
	moves = slices.DeleteFunc(moves, func(m *move) bool { return m.err != nil })
	leaves := b.commit(ctx, s, moves)
	b.tidyAll(ctx, s, moves, leaves)
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

// prepare adds the new entries of moves, and writes down beside it what they do. The
// entry of a member that stays as it is stays, too.
func (b *batch) prepare(ctx context.Context, s kv.Store, moves []*move) {
	moves = slices.DeleteFunc(slices.Clone(moves), func(m *move) bool { return m.stays })
	if len(moves) == 0 {
		return
	}
	if b.own.Note == nil {
		b.insert(ctx, s, moves)
		return
	}
	_, unnoted := b.own.Note(ctx, s, nil)
	if unnoted == nil {
		kv.Together(ctx, s,
			func(s kv.Store) error { unnoted = b.note(ctx, s, moves); return nil },
			func(s kv.Store) error { b.insert(ctx, s, moves); return nil },
		)
	}
	for _, m := range moves {
		m.err = cmp.Or(m.err, unnoted)
	}
}

// note writes down what moves are about to do. Until that is answered, no record may
// be written.
func (b *batch) note(ctx context.Context, s kv.Store, moves []*move) error {
	claims := make([]Claim, len(moves))
	for i, m := range moves {
		claims[i] = Claim{m.id, m.new.Ver, slices.Clone(m.touched)}
	}
	done, err := b.own.Note(ctx, s, claims)
	b.due.done = append(b.due.done, done)
	return err
}

// insert adds the new entries of moves.
func (b *batch) insert(ctx context.Context, s kv.Store, moves []*move) {
	entering := slices.DeleteFunc(slices.Clone(moves), func(m *move) bool { return !m.new.In })
	_ = b.each(ctx, s, b.due, func(s kv.Store, p *nodes, due *reports) error {
		puts := make([]*edit, len(entering))
		for i, m := range entering {
			puts[i] = p.putting(m.id, m.new)
		}
		p.edit(ctx, s, puts, nil, due)
		for i, m := range entering {
			m.err = cmp.Or(m.err, puts[i].err)
		}
		return nil
	})
}

// commit writes the records of moves. In the same trip it reads, for each epoch, the
// leaves that the moves have touched; nil where that fails.
func (b *batch) commit(ctx context.Context, s kv.Store, moves []*move) (leaves [][]*spot) {
	works := make([]func(kv.Store) error, len(moves))
	for i, m := range moves {
		works[i] = func(s kv.Store) error { m.err = m.writeRecord(ctx, s, b.epochs); return nil }
	}
	leaves = make([][]*spot, len(b.write))
	for i, p := range b.write {
		var points []point
		for _, m := range moves {
			for _, score := range m.touched {
				points = append(points, p.point(score, m.id))
			}
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

// tidyAll tidies, if it can, where those of moves have touched the tree that have
// committed. leaves are these places as commit has read them.
func (b *batch) tidyAll(ctx context.Context, s kv.Store, moves []*move, leaves [][]*spot) {
	_ = each(ctx, s, b.write, func(s kv.Store, epoch int, p *nodes) error {
		var edits []*edit
		var at []*spot
		n := 0
		for _, m := range moves {
			for _, score := range m.touched {
				if m.err == nil {
					edits = append(edits, p.tidying(m.id, score, m.new))
				}
				if m.err == nil && leaves[epoch] != nil {
					at = append(at, leaves[epoch][n])
				}
				n++
			}
		}
		p.edit(ctx, s, edits, at, b.due.to(p))
		for _, e := range edits {
			if e.err != nil {
				b.due.works = append(b.due.works, b.later(e))
			}
		}
		return nil
	})
	for _, m := range moves {
		if m.err == nil {
			m.touched = nil
		}
	}
}

// later is the work of e, which tidies and has failed.
func (b *batch) later(e *edit) work {
	return func(ctx context.Context, s kv.Store, due *Due) error {
		return b.tree.begin(ctx, s, func(ep *epochs) error { return ep.tidy(ctx, s, due, e.id, e.point.score, *e.known) })
	}
}

// giveUp tidies what tries of moves have touched that have not committed, as far as is
// known. They cannot do that afterward. What fails is added to what is due.
func (b *batch) giveUp(ctx context.Context, s kv.Store, moves []*move) {
	lost := slices.DeleteFunc(slices.Clone(moves), func(m *move) bool { return len(m.touched) == 0 })
	errs := kv.Each(ctx, s, lost, func(s kv.Store, _ int, m *move) error {
		return b.tree.Finish(ctx, s, b.own, []Claim{{m.id, m.past, m.touched}}, b.due)
	})
	for i, m := range lost {
		claim := Claim{m.id, m.past, m.touched}
		if m.touched = nil; errs[i] != nil {
			b.due.works = append(b.due.works, func(ctx context.Context, s kv.Store, due *Due) error {
				return b.tree.Finish(ctx, s, b.own, []Claim{claim}, due)
			})
		}
	}
}
