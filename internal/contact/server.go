package contact

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

const (
	tellAfter = time.Second

	// looks is how many times in a row a server must be found silent: a process that was not
	// running has not looked.
	looks = 8

	// atOnce limits how long a caller waits for a server at which nothing listens.
	atOnce = 50 * time.Millisecond
)

type server struct {
	all   *Servers
	addr  string
	every time.Duration // between two looks
	turn  chan struct{}

	asks    atomic.Uint64
	answers atomic.Uint64
	waiting atomic.Int64 // connections and attempts waiting for an answer
	watched atomic.Bool

	mu      sync.Mutex // not held while waiting for the server
	closed  bool
	conns   map[*conn]bool
	timer   *time.Timer
	asked0  uint64
	heard0  uint64
	silent  time.Duration // by the looks
	away    error         // why nobody waits for it; nil: not away
	refuses bool          // away, because nothing listens
	trying  bool
	since   time.Time // start of the reported outage; zero: none
}

func newServer(all *Servers, addr string) *server {
	every := max(min(all.patience/looks, tellAfter/4), time.Millisecond)
	return &server{all: all, addr: addr, every: every, turn: make(chan struct{}, 1), conns: make(map[*conn]bool)}
}

func (s *server) connect(ctx context.Context) (net.Conn, error) {
	away, refuses := s.state()
	s.asked()
	switch {
	case away == nil:
		return s.dial(ctx, ctx)
	case refuses:
		return s.dialInTurn(ctx)
	default:
		return nil, away
	}
}

func (s *server) state() (away error, refuses bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.away, s.refuses
}

func (s *server) dialInTurn(ctx context.Context) (net.Conn, error) {
	limited, cancel := context.WithTimeout(ctx, atOnce)
	defer cancel()
	inTurn := false
	select {
	case s.turn <- struct{}{}:
		inTurn = true
		defer func() { <-s.turn }()
	case <-limited.Done():
		// The attempt in progress is slow, so nobody waits for the next one.
		s.setRefuses(ctx.Err() != nil)
	}
	away, refuses := s.state()
	switch {
	case ctx.Err() != nil:
		return nil, kv.Ended(ctx)
	case away == nil:
		return s.dial(ctx, ctx)
	case refuses && inTurn:
		return s.dial(ctx, limited)
	default:
		return nil, away
	}
}

func (s *server) setRefuses(refuses bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuses = s.refuses && refuses
}

// dial connects under limited. If it fails although ctx has not ended, the server is away.
func (s *server) dial(ctx, limited context.Context) (net.Conn, error) {
	s.waiting.Add(1)
	raw, err := s.all.dial(limited, s.addr)
	s.waiting.Add(-1)
	if err != nil {
		if kv.Ended(ctx) == nil {
			s.leave(err)
		}
		return nil, err
	}
	return s.keep(&conn{Conn: raw, server: s}), nil
}

func (s *server) keep(c *conn) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns[c] = true
	if s.refuses {
		s.away, s.refuses = nil, false
	}
	return c
}

func (s *server) drop(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

func (s *server) asked() {
	s.asks.Add(1)
	if !s.watched.Load() {
		s.watch()
	}
}

func (s *server) watch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.watched.Swap(true) {
		return
	}
	s.silent, s.heard0 = 0, s.answers.Load()
	s.timer = time.AfterFunc(s.every, s.look)
}

func (s *server) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	asks, answers := s.asks.Load(), s.answers.Load()
	idle := s.waiting.Load() == 0 && asks == s.asked0
	switch {
	case s.closed:
		return
	case answers != s.heard0:
		s.silent = 0
		s.over()
	case idle || s.away != nil:
		s.silent = 0
	default:
		s.silent += s.every
		s.judge()
	}
	s.asked0, s.heard0 = asks, answers
	s.watched.Store(false)
	// A request from here on starts the looks itself.
	if !idle || s.asks.Load() != asks {
		s.watched.Store(true)
		s.timer.Reset(s.every)
	}
}

// The caller of judge holds mu.
func (s *server) judge() {
	switch {
	case s.silent >= s.all.patience:
		s.depart(silence(s.silent), false)
	case s.silent >= tellAfter:
		s.begin(silence(s.silent))
	}
}

func (s *server) leave(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.depart(why, errors.Is(why, syscall.ECONNREFUSED))
}

// The caller of depart holds mu.
func (s *server) depart(why error, refuses bool) {
	if s.closed {
		return
	}
	s.away, s.refuses = why, refuses
	s.begin(why)
	if !refuses {
		for c := range s.conns {
			// Close takes mu.
			go c.lose(why)
		}
	}
	if !s.trying {
		s.trying = true
		s.all.tries.Go(s.reach)
	}
}

// begin reports an outage, once. The caller holds mu.
func (s *server) begin(why error) {
	if s.since.IsZero() {
		s.since = time.Now().Add(-s.silent)
		s.all.tell(kv.Outage{Server: s.addr, Since: s.since, Why: why})
	}
}

// over reports the end of an outage. The caller holds mu.
func (s *server) over() {
	if !s.since.IsZero() {
		s.all.tell(kv.Outage{Server: s.addr, Since: s.since, Over: true})
		s.since = time.Time{}
	}
}

func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
}

type conn struct {
	net.Conn
	server *server
	waits  atomic.Bool // something was written after the last read
	closed sync.Once
	lost   atomic.Pointer[error] // why the server's silence has ended it
}

func (c *conn) Write(p []byte) (int, error) {
	if !c.waits.Swap(true) {
		c.server.waiting.Add(1)
	}
	c.server.asked()
	n, err := c.Conn.Write(p)
	return n, c.reason("write", err)
}

func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.server.answers.Add(1)
		c.rest()
	}
	return n, c.reason("read", err)
}

func (c *conn) Close() error {
	err := c.Conn.Close()
	c.closed.Do(func() {
		c.rest()
		c.server.drop(c)
	})
	return err
}

func (c *conn) rest() {
	if c.waits.Swap(false) {
		c.server.waiting.Add(-1)
	}
}

func (c *conn) lose(why error) {
	c.lost.Store(&why)
	_ = c.Close()
}

func (c *conn) reason(op string, err error) error {
	why := c.lost.Load()
	if err == nil || why == nil {
		return err
	}
	return &net.OpError{Op: op, Net: "tcp", Addr: address(c.server.addr), Err: *why}
}

const (
	firstPause = 20 * time.Millisecond
	lastPause  = 500 * time.Millisecond

	forgetAfter = time.Minute
)

func (s *server) reach() {
	asks, asked := s.asks.Load(), time.Now()
	for pause := firstPause; s.isAway() && kv.Sleep(s.all.open, pause); pause = min(2*pause, lastPause) {
		if now := s.asks.Load(); now != asks {
			asks, asked = now, time.Now()
		} else if time.Since(asked) > forgetAfter {
			s.forget()
			return
		}
		if err := s.try(); err == nil {
			s.back()
			return
		} else if s.all.open.Err() == nil {
			s.leave(err)
		}
	}
	s.forget()
}

func (s *server) isAway() bool {
	away, _ := s.state()
	return away != nil
}

func (s *server) try() error {
	ctx, cancel := context.WithTimeout(s.all.open, s.all.patience)
	defer cancel()
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	c, err := s.all.dial(ctx, s.addr)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { c.Close() })()
	if _, err = c.Write(s.all.hello); err == nil {
		_, err = c.Read(make([]byte, 64))
	}
	if ctx.Err() != nil {
		return silence(s.all.patience)
	}
	return err
}

func (s *server) back() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.refuses, s.silent, s.trying = nil, false, 0, false
	s.over()
}

// forget ends the attempts. The next caller tries for itself.
func (s *server) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.refuses, s.trying = nil, false, false
}
