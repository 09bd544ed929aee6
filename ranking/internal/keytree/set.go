package keytree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Change returns the state that a member should be in, given the one it is in; its
// version is of no account. What it reads for that is not older than the state. It may
// be called more than once.
type Change func(ctx context.Context, s kv.Store, old State) (to State, err error)

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
	return t.SetAll(ctx, s, own, []Setting{{ID: id}}, OneByOne(func(int) Change { return change }), due)[0]
}

// Setting is a member to change.
type Setting struct {
	ID    string
	Fence Fence
}

// Changes is a Change of several members: of those of the settings, which are in the
// states old. It returns an error for each, or none at all.
type Changes func(ctx context.Context, s kv.Store, settings []int, old []State) (to []State, errs []error)

// OneByOne returns the changes that change makes of each setting, side by side.
func OneByOne(change func(setting int) Change) Changes {
	return func(ctx context.Context, s kv.Store, settings []int, old []State) ([]State, []error) {
		to := make([]State, len(settings))
		errs := kv.Each(ctx, s, settings, func(s kv.Store, i, setting int) (err error) {
			to[i], err = change(setting)(ctx, s, old[i])
			return err
		})
		return to, errs
	}
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
func (t *Tree) SetAll(ctx context.Context, s kv.Store, own *Own, settings []Setting, changes Changes, due *Due) []error {
	all := make([]move, len(settings))
	moves := make([]*move, len(settings))
	for i, set := range settings {
		moves[i] = &all[i]
		all[i] = move{own: own, setting: i, id: set.ID, key: own.Key(set.ID), fence: set.Fence, err: errAgain}
		if len(set.ID) > MaxID {
			all[i].err = plug.TooLong("an id in a ranking", set.ID, MaxID)
		}
	}
	errs := make([]error, 0, len(moves))
	for len(moves) > 0 {
		some := moves[:fewNoted(moves)]
		moves = moves[len(some):]
		err := t.setSome(ctx, s, own, some, changes, due)
		for _, m := range some {
			if m.unfinished() {
				m.err = err
			}
			errs = append(errs, m.err)
		}
	}
	return errs
}

// setSome makes moves, and returns why some are unfinished.
func (t *Tree) setSome(ctx context.Context, s kv.Store, own *Own, moves []*move, changes Changes, due *Due) error {
	read := func(s kv.Store) error { own.readAll(ctx, s, left(moves)); return nil }
	return t.begin(ctx, s, func(ep *epochs) error {
		b := &batch{ep, t, own, changes, due}
		err := b.tryAll(ctx, s, moves, read)
		b.giveUp(ctx, s, moves)
		return err
	}, read)
}

// notedBytes bounds what is noted at once, since a journal's segment must hold it.
const notedBytes = 256 << 10

// fewNoted returns how many of moves can be noted at once, at least one.
func fewNoted(moves []*move) int {
	n, bytes := 0, 0
	for n < len(moves) && (n == 0 || bytes+noteBytes(moves[n]) <= notedBytes) {
		bytes += noteBytes(moves[n])
		n++
	}
	return n
}

// noteBytes returns about how long a note about m is.
func noteBytes(m *move) int { return len(m.id) + 24 }

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
	own     *Own
	setting int // its number
	id      string
	key     string // of the record
	fence   Fence
	old     record
	stays   bool   // new is what the member is in
	new     State  // made for the record from
	from    record // before new
	err     error  // how the last try ended

	touched []Score // where some try has added an entry, or an old one goes
	past    uint64  // the greatest version of these tries
}

// unfinished reports whether the move is to be tried, for the first time or again.
func (m *move) unfinished() bool {
	if m.err == nil || again(m.err) {
		return m.err != nil
	}
	var loss *lossError
	return errors.Is(m.err, errLate) || errors.As(m.err, &loss)
}

// readAll reads the records of moves.
func (o *Own) readAll(ctx context.Context, s kv.Store, moves []*move) {
	// Each result says whether its record was read.
	results, _ := kv.GetAll(ctx, s, kv.Texts(moves, func(m *move) string { return m.key })...)
	for i, m := range moves {
		old, err := recordIn(m.key, results[i])
		if m.old = old; err != nil {
			m.err = err
		}
	}
}

// choose makes to the new state. It reports whether the record is to be written. A
// state that was chosen for the record as it still is stays as it is, and so does its
// entry. The version of a new one is greater than those of all earlier tries, so that
// what they have left is tidied with it.
func (m *move) choose(to State) bool {
	m.stays = to.same(m.old.State)
	if m.stays && !m.fences() {
		return false
	}
	if m.new.Ver > m.old.Ver && m.from == m.old && to.same(m.new) {
		return true
	}
	m.new, m.from = m.own.next(m.old, to), m.old
	m.new.Ver = max(m.new.Ver, m.past+1)
	m.past = m.new.Ver
	if !m.stays {
		m.touch(m.old.State)
		m.touch(m.new)
	}
	return true
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
	tree    *Tree
	own     *Own
	changes Changes
	due     *Due
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
	b.tidyAll(ctx, s, moves, b.commit(ctx, s, moves))
}

// choose has moves choose, and returns those that change something.
func (b *batch) choose(ctx context.Context, s kv.Store, moves []*move) []*move {
	settings, old := make([]int, len(moves)), make([]State, len(moves))
	for i, m := range moves {
		settings[i], old[i] = m.setting, m.old.State
	}
	to, errs := b.changes(ctx, s, settings, old)
	var changing []*move
	for i, m := range moves {
		if m.err = nil; errs != nil {
			m.err = errs[i]
		}
		if m.err == nil && m.choose(to[i]) {
			changing = append(changing, m)
		}
	}
	return changing
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
		m.err = unwritten(cmp.Or(m.err, unnoted))
	}
}

// unwritten returns err, with which the preparation of a move has ended. If that is unclear, the
// move is not: no record was written.
func unwritten(err error) error {
	if errors.Is(err, kv.ErrUnclear) {
		return fmt.Errorf("%w: %v", kv.ErrUnavailable, err)
	}
	return err
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

// tidyPlan is how an epoch is to be tidied after moves.
type tidyPlan struct {
	edits []*edit
	of    []*move // of which move each edit is
	at    []*spot // where it is to be, as commit has read it; nil where that failed
}

// commit writes the records of moves. In the same trip it reads, for each epoch, the
// leaves that the moves have touched. It returns how these are to be tidied.
func (b *batch) commit(ctx context.Context, s kv.Store, moves []*move) []*tidyPlan {
	works := []func(kv.Store) error{func(s kv.Store) error { b.writeRecords(ctx, s, moves); return nil }}
	all := make([]*tidyPlan, len(b.write))
	for i, p := range b.write {
		t := new(tidyPlan)
		for _, m := range moves {
			for _, score := range m.touched {
				t.edits, t.of = append(t.edits, p.tidying(m.id, score, m.new)), append(t.of, m)
			}
		}
		if all[i] = t; len(t.edits) > 0 {
			works = append(works, func(s kv.Store) error { t.at, _ = p.find(ctx, s, t.edits); return nil })
		}
	}
	kv.Together(ctx, s, works...)
	return all
}

// writeRecords writes the new records of moves.
func (b *batch) writeRecords(ctx context.Context, s kv.Store, moves []*move) {
	if b.read.late() {
		for _, m := range moves {
			m.err = errLate
		}
		return
	}
	ops := make([]kv.Op, len(moves))
	for i, m := range moves {
		ops[i] = m.write()
	}
	// Each op says whether its record was written.
	_ = s.Do(ctx, ops)
	var unclear []*move
	for i, m := range moves {
		switch err := ops[i].Err(); {
		case errors.Is(err, kv.ErrUnclear) && ctx.Err() == nil:
			unclear = append(unclear, m)
		case kv.Raced(err):
			m.err = errAgain
		default:
			m.err = err
		}
	}
	kv.Each(ctx, s, unclear, func(s kv.Store, _ int, m *move) error { m.err = m.settle(ctx, s); return nil })
}

// write returns the op that replaces the old record with the new one.
func (m *move) write() kv.Op { return m.own.put(m.key, m.old.version, m.new) }

// settle finds out whether the record was written, and writes it again if it was not.
// ErrUnclear: the record was either written and overwritten since, or not written.
func (m *move) settle(ctx context.Context, s kv.Store) error {
	for range maxTries {
		now, err := m.own.read(ctx, s, m.id)
		switch {
		case err != nil:
			return kv.Unclear(err)
		case now.version == m.old.version:
		case now.State == m.new:
			return nil
		default:
			return fmt.Errorf("%w: the member %s has changed since", kv.ErrUnclear, m.id)
		}
		_, err = kv.One(ctx, s, m.write())
		if unclear := errors.Is(err, kv.ErrUnclear) && ctx.Err() == nil; !unclear && !kv.Raced(err) {
			return kv.Unclear(err)
		}
	}
	return kv.ErrUnclear
}

// tidyAll tidies, if it can, where those of moves have touched the tree that have
// committed.
func (b *batch) tidyAll(ctx context.Context, s kv.Store, moves []*move, all []*tidyPlan) {
	_ = each(ctx, s, b.write, func(s kv.Store, epoch int, p *nodes) error {
		t := all[epoch].committed()
		p.edit(ctx, s, t.edits, t.at, b.due.to(p))
		for _, e := range t.edits {
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

// committed returns what t is of moves that have committed.
func (t *tidyPlan) committed() (kept tidyPlan) {
	for i, m := range t.of {
		if m.err != nil {
			continue
		}
		kept.edits = append(kept.edits, t.edits[i])
		if t.at != nil {
			kept.at = append(kept.at, t.at[i])
		}
	}
	return kept
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
