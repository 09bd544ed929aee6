package write

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// short is the path on a store with transactions: a file or memory.
func (c *change) short(p *plan) error {
	if c.isLate() {
		return core.ErrRaced
	}
	if c.Rest != nil {
		c.Rest.add(c, p)
		return nil
	}
	return commitAtomic(c.ctx, c.Model, []left{{c, p}}, func([]error) {})
}

// commitAtomic is A1 to A4 in one transaction. Failed changes leave nothing to clean up. If some
// prevent the commit, it calls fail with their errors, nil for the others.
func commitAtomic(ctx context.Context, m *core.Model, all []left, fail func([]error)) error {
	if slices.ContainsFunc(all, func(l left) bool { return l.c.leavesLine(l.p) }) {
		if err := m.Db.Journal.Ready(ctx); err != nil {
			return err
		}
	}
	if !m.Db.Alone {
		m.Db.Journal.Live() // a build that waits for this process must see that it lives
	}
	for _, l := range all {
		l.c.sent = true
	}
	err := m.Db.Atomic(ctx, func(s kv.Store) error {
		for _, l := range all {
			l.c.complete() // the line of an earlier run is gone
		}
		errs := allSteps(ctx, m, s, all)
		if err := work.FirstError(errs...); err != nil {
			fail(errs)
			return err
		}
		fail(nil)
		return nil
	})
	for _, l := range all {
		m.Db.Recent.Drop(m.Key(l.c.ID))
		if err != nil && !errors.Is(err, kv.ErrUnclear) {
			l.c.complete()
			continue
		}
		m.NoteDeleted(l.c.ID, l.p.env)
		l.c.doTheRest(l.p)
	}
	return err
}

func (c *change) leavesLine(p *plan) bool {
	return c.Handlers.Any() || p.value == nil && len(c.Children) > 0
}

func (c *change) doTheRest(p *plan) {
	if len(c.lines) == 0 {
		return
	}
	done, since := *c, c.Db.Now()
	c.lines = nil
	c.surely(c.ctx, func(ctx context.Context) error {
		if err := done.follow(ctx, since, p.created); err != nil {
			return err
		}
		done.complete()
		return nil
	})
}

func allSteps(ctx context.Context, m *core.Model, s kv.Store, all []left) []error {
	errs := make([]error, len(all))
	for _, step := range stepsOfAll {
		step(ctx, m, s, all, errs)
		if work.FirstError(errs...) != nil {
			break
		}
	}
	return errs
}

// Each step sets errs for the changes that failed.
var stepsOfAll = []func(ctx context.Context, m *core.Model, s kv.Store, all []left, errs []error){
	eachDoes((*change).begin), prepareAll, putAll, besideAll, afterAll, eachDoes((*change).end),
}

func eachDoes(f func(c *change, s kv.Store, p *plan) error) func(context.Context, *core.Model, kv.Store, []left, []error) {
	return func(_ context.Context, _ *core.Model, s kv.Store, all []left, errs []error) {
		for i, l := range all {
			errs[i] = f(l.c, s, l.p)
		}
	}
}

func (c *change) begin(s kv.Store, p *plan) error {
	if c.isLate() {
		return core.ErrRaced // the process slept before the transaction
	}
	if c.late {
		if err := c.LookAgain(c.ctx, s); err != nil {
			return err
		}
	}
	found, err := c.peekAt(s, p)
	if err != nil || !isThere(found) {
		return err
	}
	return c.beaten(found)
}

func prepareAll(ctx context.Context, _ *core.Model, s kv.Store, all []left, errs []error) {
	for i, index := range all[0].c.indexes {
		if bulk := bulkOf(index, all); bulk != nil {
			if err := bulk.EnterAll(ctx, s, movesOf(all, i)); err != nil {
				copy(errs, slices.Repeat([]error{lostIfRaced(err)}, len(all)))
				return
			}
			continue
		}
		eachMove(all, i, errs, func(mv *plug.Move) error { return lostIfRaced(index.Prepare(ctx, s, mv)) })
	}
}

// eachMove does step for the moves of all in the ith index.
func eachMove(all []left, i int, errs []error, step func(*plug.Move) error) {
	for k, l := range all {
		if mv := l.p.moves[i]; mv != nil {
			errs[k] = work.FirstError(errs[k], step(mv))
		}
	}
}

// bulkOf returns the index if it can enter the records of all at once, otherwise nil.
func bulkOf(index plug.Index, all []left) plug.Bulk {
	if bulk, ok := index.(plug.Bulk); ok && len(all) > 1 && !slices.ContainsFunc(all, func(l left) bool { return l.p.rec.Rev != 0 }) {
		return bulk
	}
	return nil
}

// putAll is A2 on s, for the records and their histories.
func putAll(ctx context.Context, _ *core.Model, s kv.Store, all []left, errs []error) {
	ops := make([]kv.Op, len(all))
	for i, l := range all {
		if l.c.History > 0 && (l.p.value != nil || !l.c.Forgets) {
			if errs[i] = l.c.keepRevision(s, l.p); errs[i] != nil {
				return
			}
		}
		l.c.setMarks(l.p)
		ops[i] = l.c.Store(l.p.rec, l.p.env)
	}
	_ = s.Do(ctx, ops) // each op has its own result
	for i := range ops {
		errs[i] = lostIfRaced(ops[i].Err())
	}
}

func besideAll(ctx context.Context, _ *core.Model, s kv.Store, all []left, errs []error) {
	for i, index := range all[0].c.indexes {
		if bulkOf(index, all) == nil {
			eachMove(all, i, errs, func(mv *plug.Move) error { return index.Beside(ctx, s, mv) })
		}
	}
}

func (c *change) end(s kv.Store, p *plan) error {
	if _, err := remove(c.ctx, s, c.losses(p)); err != nil {
		return err
	}
	if c.leavesLine(p) {
		return c.note(s, c.lineOf(p))
	}
	return nil
}

// A transaction has about as many records as it can write in some milliseconds, so that other
// writers need not wait for long.

const (
	mostTogether  = 1000    // records
	firstTogether = 100     // in the first transaction of a call, and at least in the others
	bytesTogether = 4 << 20 // of the bodies
	timeTogether  = 50 * time.Millisecond
)

func severalTogether(ctx context.Context, m *core.Model, n int, id func(i int) string, work Makes) []error {
	errs := make([]error, n)
	for batch := range paced(m, n, id) {
		for k, err := range inTurns(ctx, m, batch, id, func() []error { return commitTogether(ctx, m, batch, work) }) {
			errs[batch[k]] = err
		}
	}
	return errs
}

// paced is batchesOf by what a transaction can hold.
func paced(m *core.Model, n int, id func(i int) string) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		size := firstTogether
		for batch := range batchesOf(n, id, func() int { return size }) {
			began := m.Db.Now()
			if !yield(batch) {
				return
			}
			if m.Db.Now().Sub(began) > timeTogether {
				size = max(firstTogether, size/2)
			} else {
				size = min(mostTogether, 2*size)
			}
		}
	}
}

var errAlone = errors.New("to be made alone")

// commitTogether makes the changes of batch in a few transactions. Changes that prevent a commit
// are made alone afterwards.
func commitTogether(ctx context.Context, m *core.Model, batch []int, work Makes) []error {
	planned := make([]Rest, len(batch))
	errs := kv.Each(ctx, m.Db.Store, batch, func(s kv.Store, k, i int) error { return work(ctx, s, i, &planned[k]) })
	var all []left
	var of []int // positions in batch
	for k := range planned {
		if errs[k] == nil && len(planned[k].all) > 0 {
			all, of = append(all, planned[k].all...), append(of, k)
		}
	}
	for some := range chunksOf(all) {
		for k, err := range commitSome(ctx, m, some) {
			if errs[of[k]] = err; err == errAlone {
				errs[of[k]] = work(ctx, m.Db.Store, batch[of[k]], nil)
			}
		}
		of = of[len(some):]
	}
	return errs
}

func chunksOf(all []left) iter.Seq[[]left] {
	return func(yield func([]left) bool) {
		begin, bytes := 0, 0
		for i, l := range all {
			if bytes += len(l.p.env.Body); bytes > bytesTogether && i > begin {
				if !yield(all[begin:i]) {
					return
				}
				begin, bytes = i, len(l.p.env.Body)
			}
		}
		if begin < len(all) {
			yield(all[begin:])
		}
	}
}

func commitSome(ctx context.Context, m *core.Model, all []left) []error {
	errs := make([]error, len(all))
	todo := alike(m, all, errs)
	for len(todo) > 0 {
		var failed []error
		changes := make([]left, len(todo))
		for k, i := range todo {
			changes[k] = all[i]
		}
		err := commitAtomic(ctx, m, changes, func(all []error) { failed = all })
		if err == nil || failed == nil {
			for k, i := range todo {
				if err != nil {
					errs[i] = m.Failure(changes[k].c.ID, err)
				}
			}
			break
		}
		again := todo[:0]
		for k, i := range todo {
			if failed[k] != nil {
				errs[i] = errAlone
			} else {
				again = append(again, i)
			}
		}
		todo = again
	}
	return errs
}

// alike returns the changes that one transaction can make together: those with the same indexes,
// each of another record. It sets errAlone for the others.
func alike(m *core.Model, all []left, errs []error) []int {
	var todo []int
	known := make(map[string]bool)
	for i, l := range all {
		if known[l.c.ID] || len(l.c.indexes) != len(all[0].c.indexes) {
			errs[i] = errAlone
			continue
		}
		known[l.c.ID] = true
		todo = append(todo, i)
	}
	return todo
}
