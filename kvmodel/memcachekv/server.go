package memcachekv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/boot"
	"github.com/ringtree/ringtree/internal/contact"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// server is one memcached and the links to it. It sends no request before checking that memcached
// still has its memory.
type server struct {
	addr    string
	seed    uint64
	opts    Options
	connect contact.Dialer
	slots   chan struct{} // one token per link in use

	memory  *boot.Memory
	boot    *boot.Server
	witness *link // of the current pass

	mu     sync.Mutex
	idle   []*link // most recently used last
	closed bool
}

func newServer(addr string, opts Options) *server {
	return &server{addr: addr, seed: fnv1a(addr), opts: opts, slots: make(chan struct{}, opts.Conns)}
}

var (
	errClosed   = errors.New("the store is closed")
	errBusy     = errors.New("all connections are in use")
	errRestless = errors.New("its boot item keeps changing")
	errStuck    = errors.New("not sent, because the server did not answer other requests of the same trip")
)

func (s *server) do(ctx context.Context, op *kv.Op) {
	if !s.opts.PipelineWrites {
		ops := []*kv.Op{op}
		if op.Kind == kv.Get {
			s.batch(ctx, nil, ops)
		} else {
			s.batch(ctx, ops, nil)
		}
		return
	}
	err := s.use(ctx, op.Kind == kv.Get, func(l *link) { op.Result = l.do(op) })
	if err != nil {
		op.Result.Err = err
	}
}

func (s *server) getAll(ctx context.Context, ops []*kv.Op) {
	err := s.use(ctx, true, func(l *link) { l.getAll(ops) })
	if err != nil {
		for _, op := range ops {
			op.Result.Err = err
		}
	}
}

// batch sends writes and gets together, and the gets again if an old connection breaks.
func (s *server) batch(ctx context.Context, writes, gets []*kv.Op) {
	err := s.use(ctx, len(gets) > 0, func(l *link) {
		l.batch(writes, gets)
		writes = nil
	})
	if err != nil {
		for _, op := range slices.Concat(writes, gets) {
			op.Result = kv.Result{Err: err}
		}
	}
}

// use calls f with a link, and once more if the connection breaks and f only reads: an old
// connection may have been broken before.
func (s *server) use(ctx context.Context, reads bool, f func(*link)) error {
	for again := reads; ; again = false {
		l, err := s.link(ctx)
		if err != nil {
			return err
		}
		f(l)
		again = again && l.broken
		s.release(l)
		if !again {
			return nil
		}
	}
}

func (s *server) refuse(ctx context.Context, ops []*kv.Op, err error) {
	for _, op := range ops {
		op.Result.Err = s.failure(ctx, kv.ErrUnavailable, err)
	}
}

// maxLooks bounds the checks by one op, in case the boot items keep changing.
const maxLooks = 8

// link returns a link to a server with its memory. The caller must release it.
func (s *server) link(ctx context.Context) (*link, error) {
	for range maxLooks {
		l, err := s.take(ctx)
		if err != nil {
			return nil, err
		}
		met, err := l.meet()
		if met {
			return l, nil
		}
		s.release(l)
		if err == nil {
			err = s.memory.Look(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, s.failure(ctx, kv.ErrUnavailable, errRestless)
}

func (s *server) take(ctx context.Context) (*link, error) {
	if err := s.wait(ctx); err != nil {
		return nil, s.failure(ctx, kv.ErrUnavailable, err)
	}
	l := s.pop()
	if l == nil {
		l = newLink(s)
	}
	l.ctx, l.broken = ctx, false
	return l, nil
}

func (s *server) wait(ctx context.Context) error {
	if err := kv.Ended(ctx); err != nil {
		return err
	}
	select {
	case s.slots <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(s.opts.Timeout)
	defer timer.Stop()
	select {
	case s.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return kv.Ended(ctx)
	case <-timer.C:
		return errBusy
	}
}

// pop returns the most recently used link, the least likely to be stale.
func (s *server) pop() *link {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.idle) - 1
	if last < 0 {
		return nil
	}
	l := s.idle[last]
	s.idle = s.idle[:last]
	return l
}

func (s *server) release(l *link) {
	l.ctx = nil
	if !s.push(l) {
		l.close()
	}
	<-s.slots
}

func (s *server) push(l *link) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.idle = append(s.idle, l)
	return true
}

func (s *server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.idle {
		l.close()
	}
	s.idle = nil
}

func (s *server) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.hangUp()
}

func lost(err error) error { return fmt.Errorf("memcachekv: %w", err) }

// failure adds a sentinel, the server, and the reason why ctx has ended, if it has.
func (s *server) failure(ctx context.Context, sentinel, err error) error {
	if end := kv.Ended(ctx); end != nil && !errors.Is(err, end) {
		return fmt.Errorf("memcachekv: %s: %w: %w: %w", s.addr, sentinel, end, err)
	}
	return fmt.Errorf("memcachekv: %s: %w: %w", s.addr, sentinel, err)
}
