package kvtest

import (
	"context"
	"errors"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Twice returns s with an Atomic that runs each function twice, as a store with optimistic
// transactions may: others may write between the two runs, and the first leaves no trace.
func Twice(s kv.Store) kv.Store {
	powers := kv.PowersOf(s)
	powers.Atomic = twice(powers.Atomic)
	return &runsTwice{s, powers}
}

type runsTwice struct {
	kv.Store
	powers kv.Powers
}

func (t *runsTwice) Powers() kv.Powers { return t.powers }

// errAgain undoes the first run of a function.
var errAgain = errors.New("kvtest: the transaction runs again")

// transact is the power Atomic.
type transact = func(context.Context, func(kv.Store) error) error

// twice returns an atomic that runs every function twice.
func twice(atomic transact) transact {
	return func(ctx context.Context, f func(kv.Store) error) error {
		err := atomic(ctx, func(s kv.Store) error {
			_ = f(s)
			return errAgain
		})
		if err != errAgain {
			return err
		}
		return atomic(ctx, f)
	}
}
