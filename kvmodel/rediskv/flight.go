package rediskv

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Limits of a flight that writes to a single server keep a run of the script short, and a request
// far below the server's limit.
const (
	maxFlightOps   = 1000
	maxFlightBytes = 8 << 20
)

type request struct {
	ops    []*kv.Op
	cmd    rueidis.Completed
	block  []rueidis.Completed // replaces cmd if not nil; the last command has the reply
	script bool
	writes bool
}

func (s *Store) flightLen(ops []*kv.Op) int {
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

type flight struct {
	store   *Store
	reqs    []request
	replies []rueidis.RedisResult
	done    chan struct{} // receives a token when a sender is done
	ctx     endless

	// A flight of one request, the most common, is one allocation.
	oneReq   [1]request
	oneReply [1]rueidis.RedisResult
}

func (s *Store) newFlight(ops []*kv.Op, sha string) *flight {
	f := s.emptyFlight()
	if !s.cluster || len(ops) == 1 {
		f.oneReq[0] = s.request(ops, sha)
		f.reqs, f.replies = f.oneReq[:], f.oneReply[:]
		return f
	}
	for i := range ops {
		f.reqs = append(f.reqs, s.request(ops[i:i+1], sha))
	}
	return f
}

func (s *Store) emptyFlight() *flight {
	if f, ok := s.flights.Get().(*flight); ok {
		return f
	}
	return &flight{store: s, done: make(chan struct{}, 1)}
}

// recycle keeps a landed flight. An abandoned one still belongs to its sender.
func (f *flight) recycle() {
	*f = flight{store: f.store, done: f.done}
	f.store.flights.Put(f)
}

func (s *Store) request(ops []*kv.Op, sha string) request {
	req := request{ops: ops, writes: writes(ops)}
	b := s.client.B()
	switch {
	case !req.writes && s.picks && slices.ContainsFunc(ops, func(op *kv.Op) bool { return op.Near }):
		req.block = []rueidis.Completed{b.ClientCaching().Yes().Build(), get(b, ops)}
	case !req.writes:
		req.cmd = get(b, ops)
	case len(ops) == 1 && blind(ops[0]):
		req.cmd = command(b, ops[0])
	case s.opts.WaitReplicas == 0 && !slices.ContainsFunc(ops, func(op *kv.Op) bool { return !blind(op) || op.Chain != 0 }):
		req.block = block(b, ops)
	default:
		req.script = true
		req.cmd = s.script.run(b, ops, sha)
	}
	return req
}

func get(b rueidis.Builder, ops []*kv.Op) rueidis.Completed {
	if len(ops) == 1 {
		return command(b, ops[0])
	}
	return b.Mget().Key(keysOf(ops)...).Build()
}

// blind reports whether op ignores the current value of its key. No value makes Redis's commands
// for such ops fail.
func blind(op *kv.Op) bool { return op.Kind == kv.Set || op.Kind == kv.Add || op.Kind == kv.Delete }

func command(b rueidis.Builder, op *kv.Op) rueidis.Completed {
	switch op.Kind {
	case kv.Get:
		return b.Get().Key(op.Key).Build()
	case kv.Delete:
		return b.Del().Key(op.Key).Build()
	case kv.Set:
		return b.Arbitrary("SET").Keys(op.Key).Args(newText(op.Value)).Args(ttl(op, "PX")...).Build()
	default:
		return b.Arbitrary("SET").Keys(op.Key).Args(newText(op.Value), "NX").Args(ttl(op, "PX")...).Build()
	}
}

// block carries out blind ops together or, if one is refused, not at all. It costs the server at
// most half as much as the script.
func block(b rueidis.Builder, ops []*kv.Op) []rueidis.Completed {
	cmds := make([]rueidis.Completed, 0, len(ops)+2)
	cmds = append(cmds, b.Multi().Build())
	for _, op := range ops {
		cmds = append(cmds, command(b, op))
	}
	return append(cmds, b.Exec().Build())
}

func writes(ops []*kv.Op) bool {
	return slices.ContainsFunc(ops, func(op *kv.Op) bool { return op.Kind.Writes() })
}

func keysOf(ops []*kv.Op) []string {
	keys := make([]string, len(ops))
	for i, op := range ops {
		keys[i] = op.Key
	}
	return keys
}

// ttl returns the op's TTL in milliseconds, preceded by before, or nil.
func ttl(op *kv.Op, before ...string) []string {
	if op.TTL == 0 {
		return nil
	}
	ms := (op.TTL + time.Millisecond - 1) / time.Millisecond
	return append(before, strconv.FormatInt(int64(ms), 10))
}

// send returns when all requests are answered, or with the error of ctx; then the flight must not
// be used again.
//
// The client ignores ctx while it connects, and closes a connection shared with others if a
// deadline passes. So it gets ctx only on an existing connection, without the deadline; otherwise a
// sender waits for it.
func (f *flight) send(ctx context.Context) error {
	if ctx.Done() == nil {
		f.sendAll(context.Background())
		return nil
	}
	if f.store.connected() {
		f.ctx.Context = ctx
		f.sendAll(&f.ctx)
		if err := f.replies[0].NonRedisError(); err != nil && err == ctx.Err() {
			return kv.Ended(ctx)
		}
		return nil
	}
	f.store.senders.send(f)
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return kv.Ended(ctx)
	}
}

type endless struct{ context.Context }

func (*endless) Deadline() (end time.Time, ok bool) { return end, false }

func (s *Store) connected() bool { return s.answered.Load() == s.memory.Load().Doubts()+1 }

func (f *flight) sendAll(ctx context.Context) {
	client := f.store.client
	switch {
	case f.store.opts.WaitReplicas > 0:
		f.sendConfirmed()
	case len(f.reqs) == 1:
		f.replies[0] = f.reqs[0].send(ctx, client)
	default:
		cmds := make([]rueidis.Completed, len(f.reqs))
		for i := range f.reqs {
			cmds[i] = f.reqs[i].cmd
		}
		f.replies = client.DoMulti(ctx, cmds...)
	}
}

// send returns the reply, for a block that of its last command, or the error that prevented it.
func (req request) send(ctx context.Context, client rueidis.Client) rueidis.RedisResult {
	if req.block == nil {
		return client.Do(ctx, req.cmd)
	}
	replies := client.DoMulti(ctx, req.block...)
	before, last := replies[:len(replies)-1], replies[len(replies)-1]
	if last.NonRedisError() != nil {
		return last
	}
	for _, reply := range before {
		if err := reply.Error(); err != nil {
			return rueidis.NewErrorResult(err)
		}
	}
	return last
}

func (f *flight) sendForOthers() {
	m := f.store.memory.Load()
	doubts := m.Doubts()
	f.sendAll(context.Background())
	if alone := !f.store.cluster && f.store.opts.WaitReplicas == 0; alone && f.replies[0].NonRedisError() == nil {
		f.store.answered.Store(doubts + 1)
	}
}

func (f *flight) sendConfirmed() {
	f.replies = make([]rueidis.RedisResult, len(f.reqs))
	var wg sync.WaitGroup
	for i, req := range f.reqs {
		wg.Go(func() {
			if req.writes {
				f.replies[i] = f.store.confirm(req.cmd)
			} else {
				f.replies[i] = req.send(context.Background(), f.store.client)
			}
		})
	}
	wg.Wait()
}

func (f *flight) land() []*kv.Op {
	var unknown []*kv.Op
	for i, req := range f.reqs {
		if req.script && isNoScript(f.replies[i]) {
			unknown = append(unknown, req.ops...)
			continue
		}
		f.store.answer(req, f.replies[i])
	}
	return unknown
}

func (f *flight) abandon(err error) {
	for _, req := range f.reqs {
		f.store.lose(req.ops, err)
	}
}

// confirm sends a command and waits for the replicas, on a dedicated connection, since WAIT covers
// the writes of its connection.
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

const maxIdle = 64

// senders are goroutines that send flights for callers who may leave before the reply. Starting one
// for each call would cost as much as the rest of the call.
type senders struct {
	next chan *flight
	idle chan struct{} // one token per idle sender
	quit chan struct{}
}

func newSenders() senders {
	return senders{make(chan *flight), make(chan struct{}, maxIdle), make(chan struct{})}
}

func (s senders) send(f *flight) {
	select {
	case s.next <- f:
	default:
		go s.run(f)
	}
}

func (s senders) run(f *flight) {
	for f != nil {
		f.sendForOthers()
		f.done <- struct{}{}
		f = s.await()
	}
}

func (s senders) await() *flight {
	select {
	case s.idle <- struct{}{}:
	default:
		return nil
	}
	defer func() { <-s.idle }()
	select {
	case f := <-s.next:
		return f
	case <-s.quit:
		return nil
	}
}
