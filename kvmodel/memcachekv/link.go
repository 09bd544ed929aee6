package memcachekv

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/bradfitz/gomemcache/memcache"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// link is one connection to a server, with its own library client, for one goroutine at a time. It
// ends requests with their context, and knows whether the server can have received a failed one.
type link struct {
	server *server
	client *memcache.Client
	conn   *wire // nil if not connected

	number uint64 // identifies the memory of the connected server
	broken bool   // the connection broke since the link was taken

	// The library cannot pass it to the connection.
	ctx   context.Context
	limit time.Time // when the library or ctx gives up
	asked bool      // the last request was written in full

	out  []byte
	ends []int
}

func newLink(s *server) *link {
	l := &link{server: s, client: memcache.NewFromSelector(only{address(s.addr)})}
	l.client.Timeout = s.opts.Timeout
	l.client.MaxIdleConns = 1
	l.client.DialContext = l.dial
	return l
}

func (l *link) close() {
	_ = l.client.Close()
}

// dial ignores the library's context, which has only a timeout, the same as here.
func (l *link) dial(_ context.Context, _, addr string) (net.Conn, error) {
	l.asked = false
	conn, err := l.server.connect(l.ctx, addr)
	if err != nil {
		return nil, err
	}
	l.conn = &wire{Conn: conn, link: l}
	// Versions read before are invalid until meet confirms them.
	l.number = kv.Random()
	return l.conn, nil
}

// glance is the interval at which a waiting request checks its context. Most requests never wait
// that long, so this is cheaper than a notification.
const glance = 10 * time.Millisecond

// wire is a link's connection. The deadline of the underlying one is the next glance.
type wire struct {
	net.Conn
	link *link
	next time.Time
	in   *bufio.Reader
}

func (w *wire) Write(p []byte) (int, error) {
	w.link.asked = false
	written := 0
	for {
		n, err := w.Conn.Write(p[written:])
		written += n
		if err == nil || !w.waits(err) {
			return written, err
		}
	}
}

// Read is called only after the whole request was written. A server ignores an incomplete one.
func (w *wire) Read(p []byte) (int, error) {
	w.link.asked = true
	for {
		n, err := w.Conn.Read(p)
		if n > 0 || err == nil || !w.waits(err) {
			return n, err
		}
	}
}

// SetDeadline sets the library's deadline, its timeout from now, or that of the context if it is
// earlier.
func (w *wire) SetDeadline(t time.Time) error {
	now := t.Add(-w.link.server.opts.Timeout)
	if end, ok := w.link.ctx.Deadline(); ok && end.Before(t) {
		t = end
	}
	w.link.limit = t
	// Called for each item; usually there is nothing to do.
	if w.next.Sub(now) > glance/2 && w.next.Before(t) {
		return nil
	}
	return w.sleep(now)
}

func (w *wire) sleep(now time.Time) error {
	w.next = now.Add(glance)
	if w.link.limit.Before(w.next) {
		w.next = w.link.limit
	}
	return w.Conn.SetDeadline(w.next)
}

func (w *wire) waits(err error) bool {
	now := time.Now()
	return errors.Is(err, os.ErrDeadlineExceeded) && w.link.ctx.Err() == nil && now.Before(w.link.limit) && w.sleep(now) == nil
}

func (w *wire) Close() error {
	w.link.conn = nil
	return w.Conn.Close()
}

type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

type only struct{ net.Addr }

func (o only) PickServer(string) (net.Addr, error)   { return o.Addr, nil }
func (o only) Each(visit func(net.Addr) error) error { return visit(o.Addr) }
