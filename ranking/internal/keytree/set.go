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

// A Change must read its data after old was read, and may be called again. The version of its
// result is ignored.
type Change func(ctx context.Context, s kv.Store, old State) (to State, err error)

const setTries = 16

// Set adds the new entry of the member id, writes its record, then tidies. After an error other
// than ErrUnclear the member is unchanged. A failure to tidy is no error: the rest is added to due.
func (t *Tree) Set(ctx context.Context, s kv.Store, own *Own, id string, change Change, due *Due) error {
	return t.SetAll(ctx, s, own, []Setting{{ID: id}}, OneByOne(func(int) Change { return change }), due)[0]
}

type Setting struct {
	ID    string
	Fence Fence
}

// Changes is a Change of several members; settings are their indexes.
type Changes func(ctx context.Context, s kv.Store, settings []int, old []State) (to []State, errs []error)

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

// Fence selects whether the record of an unchanged member gets a new version, so that concurrent
// changes that read older data must read again.
type Fence int

const (
	NoFence    Fence = iota
	FenceThere       // if it has a record
	FenceAll         // even without a record
)

// SetAll is Set with one write per leaf. A failure does not affect the others.
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

func (t *Tree) setSome(ctx context.Context, s kv.Store, own *Own, moves []*move, changes Changes, due *Due) error {
	read := func(s kv.Store) error { own.readAll(ctx, s, toTry(moves)); return nil }
	return t.begin(ctx, s, func(ep *epochs) error {
		b := &batch{ep, t, own, changes, due}
		err := b.tryAll(ctx, s, moves, read)
		b.giveUp(ctx, s, moves)
		return err
	}, read)
}

// notedBytes bounds one journal note, since a journal's segment must hold it.
const notedBytes = 256 << 10

func fewNoted(moves []*move) int {
	bytes := 0
	for n, m := range moves {
		if bytes += len(m.id) + 24; n > 0 && bytes > notedBytes {
			return n
		}
	}
	return len(moves)
}

func toTry(moves []*move) []*move {
	return slices.DeleteFunc(slices.Clone(moves), func(m *move) bool { return !m.unfinished() })
}

func mustBegin(moves []*move) error {
	for _, m := range moves {
		if !again(m.err) && m.unfinished() {
			return m.err
		}
	}
	return nil
}

type move struct {
	own     *Own
	setting int
	id      string
	key     string
	fence   Fence
	old     record
	stays   bool
	new     State
	from    record
	err     error

	touched []Score // where a try added an entry or removes one
	past    uint64  // greatest version of the tries
}

func (m *move) unfinished() bool {
	if m.err == nil || again(m.err) {
		return m.err != nil
	}
	var loss *lossError
	return errors.Is(m.err, errLate) || errors.As(m.err, &loss)
}

func (o *Own) readAll(ctx context.Context, s kv.Store, moves []*move) {
	results, _ := kv.GetAll(ctx, s, kv.Texts(moves, func(m *move) string { return m.key })...)
	for i, m := range moves {
		old, err := recordIn(m.key, results[i])
		if m.old = old; err != nil {
			m.err = err
		}
	}
}

// choose reports whether the record must be written. If neither the record nor to has changed since
// the last try, state and entry are kept. A new version is above those of all earlier tries, so
// that it can tidy their leftovers.
func (m *move) choose(to State) bool {
	m.stays = to.same(m.old.State)
	if m.stays && !m.fences() {
		return false
	}
	if m.new.Ver > m.old.Ver && m.from == m.old && to.same(m.new) {
		return true
	}
	m.new, m.from = m.own.nextState(m.old, to), m.old
	m.new.Ver = max(m.new.Ver, m.past+1)
	m.past = m.new.Ver
	if !m.stays {
		m.touch(m.old.State)
		m.touch(m.new)
	}
	return true
}

func (m *move) fences() bool {
	return m.fence == FenceAll || m.fence == FenceThere && m.old.version != 0
}

func (m *move) touch(st State) {
	if st.In && !slices.Contains(m.touched, st.Score) {
		m.touched = append(m.touched, st.Score)
	}
}

type batch struct {
	*epochs
	tree    *Tree
	own     *Own
	changes Changes
	due     *Due
}

func (b *batch) tryAll(ctx context.Context, s kv.Store, moves []*move, read func(kv.Store) error) error {
	for try := range setTries {
		if try > 0 {
			if err := pause(ctx, s, try); err != nil {
				return err
			}
			_ = read(s)
		}
		b.try(ctx, s, toTry(moves))
		if err := mustBegin(moves); err != nil || len(toTry(moves)) == 0 {
			return err
		}
	}
	return fmt.Errorf("%w: gave up after %d tries", kv.ErrConflict, setTries)
}

func (b *batch) try(ctx context.Context, s kv.Store, moves []*move) {
	moves = b.choose(ctx, s, moves)
	if inside(s) {
		b.moveInside(ctx, s, moves)
		return
	}
	b.prepare(ctx, s, moves)
	moves = slices.DeleteFunc(moves, func(m *move) bool { return m.err != nil })
	b.tidyAll(ctx, s, moves, b.commit(ctx, s, moves))
}

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

// prepare adds the new entries of moves and, in the same trip, notes them: no record may be written
// before.
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

// unwritten converts an unclear error of a preparation: no record was written.
func unwritten(err error) error {
	if errors.Is(err, kv.ErrUnclear) {
		return fmt.Errorf("%w: %v", kv.ErrUnavailable, err)
	}
	return err
}

func (b *batch) note(ctx context.Context, s kv.Store, moves []*move) error {
	claims := make([]Claim, len(moves))
	for i, m := range moves {
		claims[i] = Claim{m.id, m.new.Ver, slices.Clone(m.touched)}
	}
	done, err := b.own.Note(ctx, s, claims)
	b.due.done = append(b.due.done, done)
	return err
}

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

type tidyPlan struct {
	edits []*edit
	of    []*move
	at    []*spot // leaves of edits, as read by commit; nil after an error
}

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
	kv.Each(ctx, s, unclear, func(s kv.Store, _ int, m *move) error { m.err = m.resolveUnclear(ctx, s); return nil })
}

func (m *move) write() kv.Op { return m.own.put(m.key, m.old.version, m.new) }

// resolveUnclear writes the record again if it was not written. ErrUnclear: it was overwritten since.
func (m *move) resolveUnclear(ctx context.Context, s kv.Store) error {
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

func (b *batch) later(e *edit) dueWork {
	return func(ctx context.Context, s kv.Store, due *Due) error {
		return b.tree.begin(ctx, s, func(ep *epochs) error { return ep.tidy(ctx, s, due, Tidying{e.id, e.point.score, *e.known}) })
	}
}

func (b *batch) giveUp(ctx context.Context, s kv.Store, moves []*move) {
	lost := slices.DeleteFunc(slices.Clone(moves), func(m *move) bool { return len(m.touched) == 0 })
	kv.Each(ctx, s, lost, func(s kv.Store, _ int, m *move) error {
		claims := []Claim{{m.id, m.past, m.touched}}
		m.touched = nil
		finish := func(ctx context.Context, s kv.Store, due *Due) error {
			return b.tree.Finish(ctx, s, b.own, claims, due)
		}
		if finish(ctx, s, b.due) != nil {
			b.due.works = append(b.due.works, finish)
		}
		return nil
	})
}
