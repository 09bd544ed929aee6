package rediskv

import (
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/rueidis"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

var (
	errClosed      = errors.New("the store is closed")
	errStopped     = errors.New("an earlier op of the trip failed")
	errForeign     = errors.New("the key holds a value that this store did not write")
	errReply       = errors.New("unexpected reply")
	errUnconfirmed = errors.New("not confirmed by enough replicas")
)

type failure struct {
	where    string
	sentinel error
	cause    error
	again    bool // the op was not carried out, and may be retried at once
}

func (f *failure) Error() string {
	return fmt.Sprintf("redis %s: %v: %v", f.where, f.sentinel, f.cause)
}

func (f *failure) Unwrap() []error { return []error{f.sentinel, f.cause} }

func (s *Store) failed(sentinel, cause error) error {
	return &failure{where: s.where, sentinel: sentinel, cause: cause}
}

func (s *Store) fail(req request, err error) {
	reply, replied := rueidis.IsRedisErr(err)
	switch {
	case replied && !(req.script && brokeOff(reply)):
		s.refuse(req.ops, err, passing(reply))
	case !replied && notSent(err):
		// A refused connection is not retried.
		s.refuse(req.ops, err, errors.Is(err, rueidis.ErrNoSlot))
	case !req.writes:
		s.refuse(req.ops, err, true)
	default:
		s.lose(req.ops, err)
	}
}

// refuse fails ops that were not carried out. Of another op's failure, it reports only the cause.
func (s *Store) refuse(ops []*kv.Op, err error, again bool) {
	if other, failed := err.(*failure); failed && other.sentinel == kv.ErrUnavailable {
		err = other.cause
	}
	for _, op := range ops {
		op.Result = kv.Result{Err: &failure{s.where, kv.ErrUnavailable, err, again}}
	}
}

// lose fails ops that were sent and not answered. It does not repeat gets among writes: in an
// ordered trip they would see later writes. Of another op's failure, such as a check of a boot
// item, it reports only the cause.
func (s *Store) lose(ops []*kv.Op, err error) {
	if other, failed := errors.AsType[*failure](err); failed {
		err = other.cause
	}
	for _, op := range ops {
		sentinel := kv.ErrUnavailable
		if op.Kind.Writes() {
			sentinel = kv.ErrUnclear
		}
		op.Result = kv.Result{Err: s.failed(sentinel, err)}
	}
}

// passing reports whether the reason of a refusal will pass, unlike full memory.
func passing(reply *rueidis.RedisError) bool {
	code, _, _ := strings.Cut(reply.Error(), " ")
	switch code {
	case "LOADING", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "READONLY", "MASTERDOWN", "NOREPLICAS", "BUSY":
		return true
	}
	return false
}

// brokeOff reports whether a script failed while it ran, perhaps after some ops.
func brokeOff(reply *rueidis.RedisError) bool {
	return strings.Contains(reply.Error(), "script") && !passing(reply)
}

func notSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || errors.Is(err, rueidis.ErrNoSlot)
}
