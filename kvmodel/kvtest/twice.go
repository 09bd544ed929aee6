package kvtest

import (
	"context"
	"errors"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Twice returns s with an Atomic that runs each function twice, as optimistic transactions may:
// others may write in between, and the first run leaves no trace.
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

var errAgain = errors.New("kvtest: the transaction runs again")

type transact = func(context.Context, func(kv.Store) error) error

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
