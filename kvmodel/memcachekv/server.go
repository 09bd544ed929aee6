package memcachekv

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/contact"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// server is one memcached and the links to it. It never has more than
// Options.Conns links in use, and it sends no request to a memcached other than
// the one it first met.
type server struct {
	addr    string
	seed    uint64 // for its scores of keys
	opts    Options
	connect contact.Dialer
	slots   chan struct{} // holds one token for each link in use

	mu     sync.Mutex
	idle   []*link // the most recently used link is last
	boot   uint64  // the boot number it was met with; 0 means not met yet
	lost   bool
	closed bool
}

func newServer(addr string, opts Options) *server {
	return &server{addr: addr, seed: fnv1a(addr), opts: opts, slots: make(chan struct{}, opts.Conns)}
}

var (
	errClosed = errors.New("the store is closed")
	errBusy   = errors.New("all connections are in use")
	errStuck  = errors.New("not sent, because the server did not answer other requests of the same trip")
)

// do carries out op.
func (s *server) do(ctx context.Context, op *kv.Op) {
	l, err := s.link(ctx)
	if err != nil {
		op.Result.Err = err
		return
	}
	defer s.release(l)
	op.Result = l.do(op)
}

// getAll carries out ops, which are gets, as one request.
func (s *server) getAll(ctx context.Context, ops []*kv.Op) {
	l, err := s.link(ctx)
	if err != nil {
		for _, op := range ops {
			op.Result.Err = err
		}
		return
	}
	defer s.release(l)
	l.getAll(ops)
}

// refuse makes ops unavailable because of err.
func (s *server) refuse(ctx context.Context, ops []*kv.Op, err error) {
	for _, op := range ops {
		op.Result.Err = s.failure(ctx, kv.ErrUnavailable, err)
	}
}

// link returns a link that is connected to the server the store first met, for
// requests under ctx. The caller must release it.
func (s *server) link(ctx context.Context) (*link, error) {
	l, err := s.take(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.meet(); err != nil {
		defer s.release(l)
		return nil, l.failure(kv.Get, err)
	}
	return l, nil
}

// take returns a link, connected or not. The caller must release it.
func (s *server) take(ctx context.Context) (*link, error) {
	if err := s.wait(ctx); err != nil {
		return nil, s.failure(ctx, kv.ErrUnavailable, err)
	}
	l := s.pop()
	if l == nil {
		l = newLink(s)
	}
	l.ctx = ctx
	return l, nil
}

// wait puts a token into slots.
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

// pop returns the most recently used link, which is the least likely to be stale,
// or nil.
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

// release takes l back.
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

// hangUp closes the idle links.
func (s *server) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.idle {
		l.close()
	}
	s.idle = nil
}

func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.hangUp()
}

// failure returns err in the terms of the contract: with a sentinel, the server,
// and why ctx has ended if it has.
func (s *server) failure(ctx context.Context, sentinel, err error) error {
	if end := kv.Ended(ctx); end != nil && !errors.Is(err, end) {
		return fmt.Errorf("memcachekv: %s: %w: %w: %w", s.addr, sentinel, end, err)
	}
	return fmt.Errorf("memcachekv: %s: %w: %w", s.addr, sentinel, err)
}
