package rediskv

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
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
