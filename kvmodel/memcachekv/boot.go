package memcachekv

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ringtree/ringtree/internal/boot"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// bootKey holds a server's boot item. Callers cannot use keys with braces.
const bootKey = "ringtree{b}"

func newMemory(servers []*server) *boot.Memory {
	var names []string
	for _, s := range servers {
		names = append(names, s.addr)
	}
	m := boot.New(boot.Config{
		Names: names,
		Do:    func(ctx context.Context, ops []kv.Op) { doItems(ctx, servers, ops) },
		Of:    func(key string) int { return slices.Index(servers, pick(servers, key)) },
		Passed: func() {
			for _, s := range servers {
				s.dismiss()
			}
		},
	})
	for i, s := range servers {
		s.memory, s.boot = m, m.Server(i)
	}
	return m
}

func doItems(ctx context.Context, servers []*server, ops []kv.Op) {
	var wg sync.WaitGroup
	for i := range ops {
		op := &ops[i]
		s := servers[slices.IndexFunc(servers, func(s *server) bool { return s.addr == op.Key })]
		wg.Go(func() { s.doItem(ctx, op) })
	}
	wg.Wait()
}

// doItem uses one link for all ops of a pass, since versions are valid only on one connection.
func (s *server) doItem(ctx context.Context, op *kv.Op) {
	if s.witness == nil {
		l, err := s.take(ctx)
		if err != nil {
			op.Result.Err = err
			return
		}
		s.witness = l
	}
	op.Result = s.witness.doItem(*op)
}

func (s *server) dismiss() {
	if s.witness != nil {
		s.release(s.witness)
		s.witness = nil
	}
}

var errNoSwap = errors.New("it runs without compare-and-swap (option -C), which this store needs")

func (l *link) doItem(op kv.Op) kv.Result {
	op.Key = bootKey
	l.broken = false
	r := l.do(&op)
	if l.broken && op.Kind == kv.Get {
		// The old connection was broken; the library makes a new one now.
		l.broken = false
		r = l.do(&op)
	}
	if op.Kind == kv.Get && r.Err == nil && l.casID(r.Version) == 0 {
		r.Err = l.server.failure(l.ctx, kv.ErrUnavailable, errNoSwap)
	}
	return r
}

// meet reports whether l is connected to a server that still has its memory. If it returns false
// without an error, the items of all servers must be checked.
func (l *link) meet() (bool, error) {
	s := l.server
	if s.isClosed() {
		return false, s.failure(l.ctx, kv.ErrUnavailable, errClosed)
	}
	known, look, err := s.boot.Known()
	if err != nil {
		return false, lost(err)
	}
	if !look && l.conn != nil && l.number == known {
		return true, nil
	}
	doubts := s.memory.Doubts()
	r := l.doItem(kv.Op{Kind: kv.Get})
	if kv.Failed(r.Err) {
		return false, r.Err
	}
	number, ok := s.boot.Saw(r, doubts)
	l.number = number
	return ok, nil
}
