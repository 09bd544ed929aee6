package kv

import (
	"context"
	"errors"
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
	err := r.Store.Do(ctx, ops)
	pause := r.pause
	for try := 1; try < r.tries && err != nil; try++ {
		again, positions := repeatable(ops)
		if len(again) == 0 || !Sleep(ctx, pause/2+Jitter(pause/2)) {
			return err
		}
		_ = r.Store.Do(ctx, again)
		for i, position := range positions {
			ops[position].Result = again[i].Result
		}
		err = Unanswered(ops)
		pause *= 2
	}
	return err
}

func repeatable(ops []Op) (again []Op, positions []int) {
	for i, op := range ops {
		if errors.Is(op.Result.Err, ErrUnavailable) {
			again = append(again, op)
			positions = append(positions, i)
		}
	}
	return again, positions
}
