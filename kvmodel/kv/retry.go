package kv

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Retry returns a store that repeats ops that were not carried out (ErrUnavailable), and so every
// failed Get. It makes up to tries attempts, with a jittered pause that starts at pause and
// doubles, within the deadline. An unclear write is never repeated: the second could hide the
// first.
func Retry(s Store, tries int, pause time.Duration) Store { return &retried{s, tries, pause} }

type retried struct {
	Store
	tries int
	pause time.Duration
}

// Powers leaves Atomic unchanged: nothing inside it may be repeated.
func (r *retried) Powers() Powers { return PowersOf(r.Store) }

func (r *retried) Do(ctx context.Context, ops []Op) error {
	unsent := func(op Op) bool { return errors.Is(op.Result.Err, ErrUnavailable) }
	err := r.Store.Do(ctx, ops)
	pause := r.pause
	for try := 1; try < r.tries && err != nil; try++ {
		if !slices.ContainsFunc(ops, unsent) || !Sleep(ctx, pause/2+Jitter(pause/2)) {
			return err
		}
		var chains Chains
		err = doSome(ctx, r.Store, ops, func(op *Op) bool {
			if !unsent(*op) {
				chains.Note(op)
				return false
			}
			return !chains.Skips(op)
		})
		pause *= 2
	}
	return err
}

// doSome carries out the chosen ones of ops in one trip, and returns the error owed for ops.
func doSome(ctx context.Context, s Store, ops []Op, chosen func(*Op) bool) error {
	var some []Op
	var positions []int
	for i := range ops {
		if op := &ops[i]; chosen(op) {
			some, positions = append(some, *op), append(positions, i)
		}
	}
	if len(some) > 0 {
		// The results contain its error.
		_ = s.Do(ctx, some)
	}
	for i, position := range positions {
		ops[position].Result = some[i].Result
	}
	return Unanswered(ops)
}
