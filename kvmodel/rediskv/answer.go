package rediskv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"

	"github.com/redis/rueidis"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var outcomes = [...]error{
	nil,
	kv.ErrNotFound,
	kv.ErrExists,
	kv.ErrConflict,
	kv.ErrNotStored,
	kv.ErrSealed,
	kv.ErrNotNumber,
	kv.ErrSkipped,
}

func isNoScript(reply rueidis.RedisResult) bool {
	err, ok := rueidis.IsRedisErr(reply.Error())
	return ok && err.IsNoScript()
}

func (s *Store) answer(req request, reply rueidis.RedisResult) {
	msg, err := reply.ToMessage()
	switch {
	case err != nil && !rueidis.IsRedisNil(err):
		s.fail(req, err)
	case req.script:
		s.answerScript(req, msg)
	case req.block != nil && req.writes:
		s.answerBlock(req, msg)
	case len(req.ops) > 1:
		s.answerGets(req, msg)
	default:
		s.answerOne(req.ops[0], msg)
	}
}

func (s *Store) answerGets(req request, msg rueidis.RedisMessage) {
	texts, err := msg.ToArray()
	if err != nil || len(texts) != len(req.ops) {
		s.fail(req, errReply)
		return
	}
	for i, op := range req.ops {
		s.answerGet(op, texts[i])
	}
}

func (s *Store) answerBlock(req request, msg rueidis.RedisMessage) {
	replies, err := msg.ToArray()
	if err != nil || len(replies) != len(req.ops) {
		s.fail(req, errReply)
		return
	}
	for i, op := range req.ops {
		if err := replies[i].Error(); err != nil && !rueidis.IsRedisNil(err) {
			s.refuse([]*kv.Op{op}, err, false)
			continue
		}
		s.answerOne(op, replies[i])
	}
}

// The server does not carry out the ops after one that it refused.
func (s *Store) answerScript(req request, msg rueidis.RedisMessage) {
	answers, err := msg.ToArray()
	if err != nil || len(answers) > len(req.ops) {
		s.fail(req, errReply)
		return
	}
	for i, answer := range answers {
		if err := answer.Error(); err != nil && !rueidis.IsRedisNil(err) {
			s.stop(req.ops[i:], err)
			return
		}
		s.answerOp(req.ops[i], answer)
	}
}

func (s *Store) stop(ops []*kv.Op, err error) {
	again := false
	if reply, ok := rueidis.IsRedisErr(err); ok {
		again = passing(reply)
	}
	s.refuse(ops[:1], err, again)
	s.refuse(ops[1:], fmt.Errorf("%w: %w", errStopped, err), again)
}

func (s *Store) answerOp(op *kv.Op, msg rueidis.RedisMessage) {
	switch {
	case msg.IsInt64():
		s.answerOutcome(op, msg)
	case op.Kind == kv.Get:
		s.answerGet(op, msg)
	default:
		s.answerNumber(op, msg)
	}
}

func (s *Store) answerOutcome(op *kv.Op, msg rueidis.RedisMessage) {
	n, err := msg.ToInt64()
	if err != nil || n < 0 || int(n) >= len(outcomes) {
		s.lose([]*kv.Op{op}, errReply)
		return
	}
	op.Result = kv.Result{Err: outcomes[n]}
}

func (s *Store) answerNumber(op *kv.Op, msg rueidis.RedisMessage) {
	text, _ := msg.ToString()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || op.Kind != kv.Increment {
		s.lose([]*kv.Op{op}, errReply)
		return
	}
	op.Result = kv.Result{Number: n}
}

func (s *Store) answerGet(op *kv.Op, msg rueidis.RedisMessage) {
	if msg.IsNil() {
		op.Result = kv.Result{Err: kv.ErrNotFound}
		return
	}
	text, err := msg.AsBytes()
	if err == nil {
		op.Result, err = parseItem(text)
	}
	if err != nil {
		s.refuse([]*kv.Op{op}, err, false)
	}
}

func (s *Store) answerOne(op *kv.Op, msg rueidis.RedisMessage) {
	op.Result = kv.Result{}
	switch op.Kind {
	case kv.Get:
		s.answerGet(op, msg)
	case kv.Delete:
		if n, _ := msg.ToInt64(); n == 0 {
			op.Result.Err = kv.ErrNotFound
		}
	case kv.Add:
		if msg.IsNil() {
			op.Result.Err = kv.ErrExists
		}
	}
}

// An item in Redis is a format byte, which begins no text, a version of 64 random bits, and the
// value.
const (
	format  = 0xF5
	headLen = 9
)

func head(v kv.Version) []byte {
	return binary.BigEndian.AppendUint64([]byte{format}, uint64(v))
}

func newText(value []byte) string {
	v := rand.Uint64()
	for v == 0 {
		v = rand.Uint64()
	}
	var b strings.Builder
	b.Grow(headLen + len(value))
	b.Write(head(kv.Version(v)))
	b.Write(value)
	return b.String()
}

func parseItem(text []byte) (kv.Result, error) {
	if len(text) < headLen || text[0] != format {
		return kv.Result{}, errForeign
	}
	version := kv.Version(binary.BigEndian.Uint64(text[1:headLen]))
	return kv.Result{Value: text[headLen:], Version: version}, nil
}

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
