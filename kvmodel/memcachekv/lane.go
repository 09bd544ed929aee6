package memcachekv

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

// lane is one connection to a server, with a library client of its own, used
// by one goroutine at a time. It adds what the library lacks: requests end
// with the context they run under, and what went wrong tells whether the
// server can have got the request. Nothing runs on after a request has ended.
type lane struct {
	server *server
	client *memcache.Client

	boot   uint64    // the number of the server it is connected to
	looked time.Time // when that was last asked for

	// ctx is that of the requests under way: the library has no way to hand
	// it down to the connection.
	ctx   context.Context
	leave func() bool // stops abort from being called when ctx ends; nil if it never ends

	asked bool // the last request was written in full

	mu   sync.Mutex // abort comes from another goroutine
	conn net.Conn   // nil: none
}

func newLane(s *server) *lane {
	l := &lane{server: s, client: memcache.NewFromSelector(address(s.addr))}
	l.client.Timeout = s.opts.Timeout
	l.client.MaxIdleConns = 1
	l.client.DialContext = l.dial
	return l
}

// begin makes ctx the context of the requests that follow.
func (l *lane) begin(ctx context.Context) {
	l.ctx, l.leave = ctx, nil
	if ctx.Done() != nil {
		l.leave = context.AfterFunc(ctx, l.abort)
	}
}

// end ends what begin began and tells whether the lane is fit to be used
// again. An aborted one is not: the abort may still be under way.
func (l *lane) end() bool {
	l.ctx = context.Background()
	return l.leave == nil || l.leave()
}

// abort makes whatever waits for the connection fail at once.
func (l *lane) abort() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn != nil {
		// The connection is closed after this in any case.
		_ = l.conn.SetDeadline(longAgo)
	}
}

var longAgo = time.Unix(1, 0)

func (l *lane) connected() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn != nil
}

// close closes the connection, if there is one.
func (l *lane) close() {
	// Nothing is under way, so how it ends is of no interest.
	_ = l.client.Close()
}

// dial connects under the context of the request. The library's own carries
// nothing but a time-out, the same as here.
func (l *lane) dial(_ context.Context, network, addr string) (net.Conn, error) {
	l.asked = false
	dialer := net.Dialer{Timeout: l.server.opts.Timeout}
	conn, err := dialer.DialContext(l.ctx, network, addr)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
	return &wire{conn, l}, nil
}

// wire is a lane's connection as the library sees it.
type wire struct {
	net.Conn
	lane *lane
}

// Write begins or goes on with a request.
func (w *wire) Write(p []byte) (int, error) {
	w.lane.asked = false
	return w.Conn.Write(p)
}

// Read waits for the answer, which the library does only when all of the
// request was written. A server does nothing about a part of one.
func (w *wire) Read(p []byte) (int, error) {
	w.lane.asked = true
	return w.Conn.Read(p)
}

// SetDeadline sets the library's deadline, or that of the context if it is
// earlier or over.
func (w *wire) SetDeadline(t time.Time) error {
	w.lane.mu.Lock()
	defer w.lane.mu.Unlock()
	// An abort that came before must not be undone.
	if w.lane.ctx.Err() != nil {
		t = longAgo
	} else if end, ok := w.lane.ctx.Deadline(); ok && end.Before(t) {
		t = end
	}
	return w.Conn.SetDeadline(t)
}

// Close closes the connection; the lane needs a new one then.
func (w *wire) Close() error {
	w.lane.mu.Lock()
	defer w.lane.mu.Unlock()
	w.lane.conn = nil
	return w.Conn.Close()
}

// address is a server's name: what the library dials, and a selector of it
// alone.
type address string

func (a address) Network() string                       { return "tcp" }
func (a address) String() string                        { return string(a) }
func (a address) PickServer(string) (net.Addr, error)   { return a, nil }
func (a address) Each(visit func(net.Addr) error) error { return visit(a) }
