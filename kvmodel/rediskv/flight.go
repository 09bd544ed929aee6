package rediskv

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/ringtree/ringtree/kvmodel"
)

// On a single server a trip that writes is cut into flights of at most this.
// It keeps one run of the script short, and far below the server's limit of
// one request.
const (
	maxFlightOps   = 1000
	maxFlightBytes = 8 << 20
)

// request is one command, which carries out some ops.
type request struct {
	ops    []*kvmodel.Op
	cmd    rueidis.Completed
	script bool // the reply is the script's
	writes bool
}

// flightLen returns how many of the first ops go in one flight.
func (s *Store) flightLen(ops []*kvmodel.Op) int {
	if s.cluster || !writes(ops) {
		return len(ops)
	}
	bytes := 0
	for i, op := range ops {
		bytes += len(op.Key) + len(op.Value)
		if i > 0 && (i == maxFlightOps || bytes > maxFlightBytes) {
			return i
		}
	}
	return len(ops)
}

// plan returns the requests of one flight. The script is named by sha, or
// sent as text if sha is empty.
func (s *Store) plan(ops []*kvmodel.Op, sha string) []request {
	if !s.cluster {
		return []request{s.request(ops, sha)}
	}
	reqs := make([]request, len(ops))
	for i := range ops {
		reqs[i] = s.request(ops[i:i+1], sha)
	}
	return reqs
}

// request returns the command that carries out ops, and stops where it fails.
func (s *Store) request(ops []*kvmodel.Op, sha string) request {
	req := request{ops: ops, writes: writes(ops)}
	b := s.client.B()
	op := ops[0]
	switch {
	case len(ops) > 1 && !req.writes:
		req.cmd = b.Mget().Key(keysOf(ops)...).Build()
	case len(ops) == 1 && op.Kind == kvmodel.Get:
		req.cmd = b.Get().Key(op.Key).Build()
	case len(ops) == 1 && op.Kind == kvmodel.Delete:
		req.cmd = b.Del().Key(op.Key).Build()
	case len(ops) == 1 && op.Kind == kvmodel.Set:
		req.cmd = b.Arbitrary("SET").Keys(op.Key).Args(newText(op.Value)).Args(ttl(op, "PX")...).Build()
	case len(ops) == 1 && op.Kind == kvmodel.Add:
		req.cmd = b.Arbitrary("SET").Keys(op.Key).Args(newText(op.Value), "NX").Args(ttl(op, "PX")...).Build()
	default:
		req.script = true
		req.cmd = s.script.run(b, ops, sha)
	}
	return req
}

func writes(ops []*kvmodel.Op) bool {
	for _, op := range ops {
		if op.Kind.Writes() {
			return true
		}
	}
	return false
}

func keysOf(ops []*kvmodel.Op) []string {
	keys := make([]string, len(ops))
	for i, op := range ops {
		keys[i] = op.Key
	}
	return keys
}

// ttl returns the op's TTL in milliseconds, never too short, after the words
// before it; nothing if it has none.
func ttl(op *kvmodel.Op, before ...string) []string {
	if op.TTL == 0 {
		return nil
	}
	ms := (op.TTL + time.Millisecond - 1) / time.Millisecond
	return append(before, strconv.FormatInt(int64(ms), 10))
}

// send sends the requests at once and returns a reply to each.
func (s *Store) send(reqs []request) []rueidis.RedisResult {
	if s.opts.WaitReplicas > 0 {
		return s.sendConfirmed(reqs)
	}
	if len(reqs) == 1 {
		return []rueidis.RedisResult{s.client.Do(context.Background(), reqs[0].cmd)}
	}
	cmds := make([]rueidis.Completed, len(reqs))
	for i := range reqs {
		cmds[i] = reqs[i].cmd
	}
	return s.client.DoMulti(context.Background(), cmds...)
}

// sendConfirmed is send with a WAIT after each request that writes.
func (s *Store) sendConfirmed(reqs []request) []rueidis.RedisResult {
	replies := make([]rueidis.RedisResult, len(reqs))
	var wg sync.WaitGroup
	for i, req := range reqs {
		wg.Go(func() {
			if req.writes {
				replies[i] = s.confirm(req.cmd)
			} else {
				replies[i] = s.client.Do(context.Background(), req.cmd)
			}
		})
	}
	wg.Wait()
	return replies
}

// confirm sends a command and waits for the replicas on a connection of its
// own, since WAIT speaks of what its connection wrote, on the node where it
// wrote. It returns errUnconfirmed in place of the reply if they are too few.
func (s *Store) confirm(cmd rueidis.Completed) rueidis.RedisResult {
	ctx, cancel := context.WithTimeout(context.Background(), s.opts.Patience+s.opts.WaitTimeout)
	defer cancel()
	client, release := s.client.Dedicate()
	defer release()
	wait := client.B().Wait().Numreplicas(int64(s.opts.WaitReplicas)).Timeout(s.opts.WaitTimeout.Milliseconds()).Build()
	replies := client.DoMulti(ctx, cmd, wait)
	if err := replies[0].Error(); err != nil && !rueidis.IsRedisNil(err) {
		return replies[0]
	}
	if n, err := replies[1].AsInt64(); err != nil || n < int64(s.opts.WaitReplicas) {
		return rueidis.NewErrorResult(errUnconfirmed)
	}
	return replies[0]
}
