package boltkv

import (
	"errors"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type failure struct {
	sentinel error
	cause    error
}

func (f *failure) Error() string {
	return "boltkv: " + f.sentinel.Error() + ": " + f.cause.Error()
}

func (f *failure) Unwrap() []error { return []error{f.sentinel, f.cause} }

func unavailable(cause error) *failure { return &failure{kv.ErrUnavailable, cause} }

func unclear(cause error) *failure { return &failure{kv.ErrUnclear, cause} }

var errClosed = unavailable(errors.New("the store is closed"))

// fill makes f the result of all ops that were not rejected. Even their successes may depend on
// another caller's write that failed.
func (f *failure) fill(ops []kv.Op) {
	for i := range ops {
		switch op := &ops[i]; {
		case refused(op.Result.Err):
		case op.Kind == kv.Get && f.sentinel == kv.ErrUnclear:
			op.Result = kv.Result{Err: unavailable(f.cause)}
		default:
			op.Result = kv.Result{Err: f}
		}
	}
}

func refused(err error) bool {
	return errors.Is(err, kv.ErrBadKey) || errors.Is(err, kv.ErrTooLarge) || errors.Is(err, kv.ErrBadOp)
}
