package memcachekv

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel"
)

// flight is what one trip asks of one server: one request for all gets, and
// one for each write.
type flight struct {
	server *server
	gets   []*kvmodel.Op
	writes []*kvmodel.Op

	next  atomic.Int64 // the request that nobody has begun
	stuck atomic.Bool  // some request ran into a time-out
}

// flights sorts the ops that may be sent by their servers.
func (s *Store) flights(ops []kvmodel.Op) []*flight {
	byServer := make(map[*server]*flight, len(s.servers))
	var all []*flight
	for i := range ops {
		op := &ops[i]
		if op.Result.Err != nil {
			continue
		}
		srv := pick(s.servers, op.Key)
		f := byServer[srv]
		if f == nil {
			f = &flight{server: srv}
			byServer[srv] = f
			all = append(all, f)
		}
		f.add(op)
	}
	return all
}

func (f *flight) add(op *kvmodel.Op) {
	if op.Kind == kvmodel.Get {
		f.gets = append(f.gets, op)
	} else {
		f.writes = append(f.writes, op)
	}
}

// requests returns how many requests the flight has; the first is the gets.
func (f *flight) requests() int { return min(len(f.gets), 1) + len(f.writes) }

// fly carries out flights and returns when all their ops have results. The
// caller's goroutine does a part of it, all of it where one is enough.
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

// work carries out requests that nobody has begun until there are none.
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
	// Who has waited for this server once does not wait again for each of many
	// writes.
	if f.stuck.Load() {
		f.server.refuse(ctx, ops, errStuck)
		return
	}
	if len(ops) == 1 {
		f.server.do(ctx, ops[0])
	} else {
		f.server.getAll(ctx, ops)
	}
	if slices.ContainsFunc(ops, func(op *kvmodel.Op) bool { return timedOut(op.Result.Err) }) {
		f.stuck.Store(true)
	}
}
