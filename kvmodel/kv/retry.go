package kv

import (
	"context"
	"errors"
	"time"
)

// Retry returns a store that repeats what may be repeated, up to tries times
// in all, with a jittered pause that starts at pause and doubles: ops that
// were not carried out (ErrUnavailable), and among them every Get. A write
// that is unclear is never repeated: a second one could hide the first.
// It gives up when the context has no time left for the next pause.
func Retry(s Store, tries int, pause time.Duration) Store { return &retried{s, tries, pause} }

type retried struct {
	Store
	tries int
	pause time.Duration
}

// Powers leaves Atomic as it is: inside it nothing may be repeated.
func (r *retried) Powers() Powers { return PowersOf(r.Store) }

func (r *retried) Do(ctx context.Context, ops []Op) error {
	err := r.Store.Do(ctx, ops)
	pause := r.pause
	for try := 1; try < r.tries && err != nil; try++ {
		again, places := repeatable(ops)
		if len(again) == 0 || !Sleep(ctx, pause/2+Jitter(pause/2)) {
			return err
		}
		// What it returns is told by the results as well.
		_ = r.Store.Do(ctx, again)
		for i, place := range places {
			ops[place].Result = again[i].Result
		}
		err = Unanswered(ops)
		pause *= 2
	}
	return err
}

// repeatable returns copies of the ops that were not carried out, and their
// places.
func repeatable(ops []Op) (again []Op, places []int) {
	for i, op := range ops {
		if errors.Is(op.Result.Err, ErrUnavailable) {
			again = append(again, op)
			places = append(places, i)
		}
	}
	return again, places
}
