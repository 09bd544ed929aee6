package memcachekv

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// flight is what one trip asks of one server: one request for all gets, and
// one for each write.
type flight struct {
	server *server
	gets   []*kv.Op
	writes []*kv.Op

	next  atomic.Int64 // the first request that no worker has begun
	stuck atomic.Bool  // some request timed out
}

// flights groups the ops that may be sent by server.
func (s *Store) flights(ops []kv.Op) []*flight {
	var all []*flight
	for i := range ops {
		op := &ops[i]
		if op.Result.Err != nil {
			continue
		}
		srv := pick(s.servers, op.Key)
		at := slices.IndexFunc(all, func(f *flight) bool { return f.server == srv })
		if at < 0 {
			at = len(all)
			all = append(all, &flight{server: srv})
		}
		all[at].add(op, len(ops)-i)
	}
	return all
}

// add adds op. At most that many ops are still to come, including op.
func (f *flight) add(op *kv.Op, most int) {
	list := &f.writes
	if op.Kind == kv.Get {
		list = &f.gets
	}
	if *list == nil {
		*list = make([]*kv.Op, 0, most)
	}
	*list = append(*list, op)
}

// requests returns how many requests the flight has; the first is the gets.
func (f *flight) requests() int { return min(len(f.gets), 1) + len(f.writes) }

// fly carries out flights and returns when all their ops have results. The
// caller's goroutine is one of the workers, and the only one if one is enough.
func fly(ctx context.Context, flights []*flight) {
	var workers []*flight
	for _, f := range flights {
		for range min(f.requests(), f.server.opts.Conns) {
			workers = append(workers, f)
		}
	}
	var wg sync.WaitGroup
	for _, f := range workers[1:] {
		wg.Go(func() { f.work(ctx) })
	}
	workers[0].work(ctx)
	wg.Wait()
}

// work carries out requests that no other worker has begun, until there are
// none.
func (f *flight) work(ctx context.Context) {
	for {
		n := int(f.next.Add(1)) - 1
		if n >= f.requests() {
			return
		}
		if len(f.gets) > 0 {
			n--
		}
		f.request(ctx, n)
	}
}

// request carries out the n-th write, or the gets where n is negative.
func (f *flight) request(ctx context.Context, n int) {
	ops := f.gets
	if n >= 0 {
		ops = f.writes[n : n+1]
	}
	// A trip that has waited for this server once does not wait again for each
	// of many writes.
	if f.stuck.Load() {
		f.server.refuse(ctx, ops, errStuck)
		return
	}
	if len(ops) == 1 {
		f.server.do(ctx, ops[0])
	} else {
		f.server.getAll(ctx, ops)
	}
	if slices.ContainsFunc(ops, func(op *kv.Op) bool { return timedOut(op.Result.Err) }) {
		f.stuck.Store(true)
	}
}
