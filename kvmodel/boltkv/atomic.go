package boltkv

import (
	"context"
	"errors"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// atomic undoes the writes of f if f fails. Even f's error waits for the commit, because f has read
// other writes of the batch.
func (s *Store) atomic(ctx context.Context, f func(kv.Store) error) error {
	var err error
	fail := s.write(ctx, func(in *live) *failure {
		v := &view{live: in}
		defer func() { v.done = true }()
		if err = f(v); err != nil {
			in.takeBack()
			return nil
		}
		if ended := ctx.Err(); ended != nil {
			return unavailable(ended)
		}
		return nil
	})
	switch {
	case fail == nil:
		return err
	case err != nil:
		// The commit held no write of f.
		return unavailable(fail.cause)
	default:
		return fail
	}
}

type view struct {
	live *live
	done bool
}

var errOver = unavailable(errors.New("the atomic change is over"))

func (v *view) Do(ctx context.Context, ops []kv.Op) error {
	if kv.Check(ops, kv.Powers{Unless: true, Ordered: true}) == 0 {
		return nil
	}
	if v.done {
		return kv.Fail(ops, errOver)
	}
	if err := ctx.Err(); err != nil {
		return kv.Fail(ops, unavailable(err))
	}
	if fail := v.live.run(ops); fail != nil {
		fail.fill(ops)
	}
	return kv.Unanswered(ops)
}

func (v *view) Close() error { return nil }

// Near: values in the tables are not copied.
func (v *view) Powers() kv.Powers {
	return kv.Powers{Unless: true, Ordered: true, Inside: true, Near: true}
}
