package kvmodel

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// On a store with transactions, changes of many records share one. A transaction is limited to a
// few megabytes, and to about as many records as it can write in some milliseconds, so that other
// writers need not wait for long.

const (
	mostTogether  = 1000                  // maximum number of records in a transaction
	firstTogether = 100                   // records in the first transaction of a call
	bytesTogether = 4 << 20               // of the bodies in a transaction
	timeTogether  = 50 * time.Millisecond // time limit of a transaction
)

// paced yields 0 to n-1 in batches, as batchesOf does. It adapts their size to the time the caller
// takes for each, by the DB's clock.
func (m *model) paced(n int, id func(i int) string) iter.Seq[[]int] {
	return func(yield func([]int) bool) {
		size := firstTogether
		for batch := range batchesOf(n, id, func() int { return size }) {
			began := m.db.now()
			if !yield(batch) {
				return
			}
			if m.db.now().Sub(began) > timeTogether {
				size = max(1, size/2)
			} else {
				size = min(mostTogether, 2*size)
			}
		}
	}
}

// errAlone: a change was not made with others, and must be made alone.
var errAlone = errors.New("to be made alone")

// makes makes change i of many: immediately or, with a rest, together with others in it.
type makes func(ctx context.Context, s kv.Store, i int, rest *rest) error

// severalTogether is several on a store with transactions.
func (m *model) severalTogether(ctx context.Context, n int, id func(i int) string, work makes) []error {
	errs := make([]error, n)
	for batch := range m.paced(n, id) {
		for k, err := range m.inTurns(ctx, batch, id, func() []error { return m.commitTogether(ctx, batch, work) }) {
			errs[batch[k]] = err
		}
	}
	return errs
}

// commitTogether makes the changes of batch in one transaction, or in several if they are large. A
// work with a rest plans its change and adds it there, or fails. Changes that prevent a commit are
// made alone afterwards, by works without a rest.
func (m *model) commitTogether(ctx context.Context, batch []int, work makes) []error {
	planned := make([]rest, len(batch))
	errs := kv.Each(ctx, m.db.store, batch, func(s kv.Store, k, i int) error { return work(ctx, s, i, &planned[k]) })
	var all []left
	var of []int // positions of all in batch
	for k := range planned {
		if errs[k] == nil && len(planned[k].all) > 0 {
			all, of = append(all, planned[k].all...), append(of, k)
		}
	}
	for some := range chunksOf(all) {
		for k, err := range m.commitSome(ctx, some) {
			if errs[of[k]] = err; err == errAlone {
				errs[of[k]] = work(ctx, m.db.store, batch[of[k]], nil)
			}
		}
		of = of[len(some):]
	}
	return errs
}

// chunksOf yields all in chunks for one transaction each.
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

// commitSome makes as many of all as possible in one transaction. It returns an error for each,
// errAlone if another transaction may make it.
func (m *model) commitSome(ctx context.Context, all []left) []error {
	errs := make([]error, len(all))
	todo := m.alike(all, errs)
	for len(todo) > 0 {
		var failed []error
		changes := make([]left, len(todo))
		for k, i := range todo {
			changes[k] = all[i]
		}
		err := m.commitAtomic(ctx, changes, func(all []error) { failed = all })
		if err == nil || failed == nil {
			for k, i := range todo {
				if err != nil {
					errs[i] = m.failure(changes[k].c.id, err)
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

// alike returns the changes of all that one transaction can make together: those with the same
// indexes, each of another record. It sets errAlone for the others.
func (m *model) alike(all []left, errs []error) []int {
	var todo []int
	known := make(map[string]bool)
	for i, l := range all {
		if known[l.c.id] || len(l.c.indexes) != len(all[0].c.indexes) {
			errs[i] = errAlone
			continue
		}
		known[l.c.id] = true
		todo = append(todo, i)
	}
	return todo
}
