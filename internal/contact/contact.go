// Package contact tracks whether the servers of a store answer.
//
// [Servers] makes the connections of a store and watches their traffic. A server is away if it
// cannot be connected to, or was asked and has said nothing for the store's patience. Nothing waits
// for it: its connections are closed, new ones are refused, and attempts to reach it run in the
// background.
//
// If nothing listens at the address, callers also try, one at a time, so they learn of a return
// sooner.
package contact

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

type Dialer func(ctx context.Context, addr string) (net.Conn, error)

type Servers struct {
	patience time.Duration
	hello    []byte
	dial     Dialer
	open     context.Context // ends with Close
	end      context.CancelFunc
	tries    sync.WaitGroup

	mu      sync.Mutex
	servers map[string]*server
	hears   []func(kv.Outage)
}

// New returns servers that dial connects to. hello is a request that a server answers in any state.
func New(patience time.Duration, hello string, dial Dialer) *Servers {
	s := &Servers{patience: patience, hello: []byte(hello), dial: dial, servers: make(map[string]*server)}
	s.open, s.end = context.WithCancel(context.Background())
	return s
}

func (s *Servers) Close() {
	s.end()
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.servers))
	s.mu.Unlock()
	for _, srv := range all {
		srv.close()
	}
	s.tries.Wait()
}

func (s *Servers) Outages(hear func(kv.Outage)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hears = append(s.hears, hear)
}

func (s *Servers) tell(o kv.Outage) {
	s.mu.Lock()
	hears := s.hears
	s.mu.Unlock()
	for _, hear := range hears {
		hear(o)
	}
}

// Dial connects to the server at addr. Its errors are *net.OpError with the Op "dial".
func (s *Servers) Dial(ctx context.Context, addr string) (net.Conn, error) {
	conn, err := s.connect(ctx, addr)
	if err == nil {
		return conn, nil
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return nil, err
	}
	return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: address(addr), Err: err}
}

func (s *Servers) connect(ctx context.Context, addr string) (net.Conn, error) {
	if s.open.Err() != nil {
		return nil, net.ErrClosed
	}
	return s.server(addr).connect(ctx)
}

func (s *Servers) server(addr string) *server {
	s.mu.Lock()
	defer s.mu.Unlock()
	srv := s.servers[addr]
	if srv == nil {
		srv = newServer(s, addr)
		srv.closed = s.open.Err() != nil
		s.servers[addr] = srv
	}
	return srv
}

type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

type silence time.Duration

func (s silence) Error() string { return fmt.Sprintf("no answer for %v", time.Duration(s)) }

const FindingTime = 2 * time.Second

// IsLocal reports whether addr, host:port, is on this machine.
func IsLocal(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

const maxSkew = 2 * time.Second

// FindClock reports how far the server's clock is ahead of this machine's, known to within the
// given time.
func FindClock(addr string, ahead, within time.Duration) kv.Finding {
	off, is := ahead, "ahead of"
	if ahead < 0 {
		off, is = -ahead, "behind"
	}
	if off <= maxSkew+within {
		return kv.Find(kv.Fine, "%s: its clock is that of this machine, to %v", addr, max(time.Millisecond, (off+within).Round(time.Millisecond)))
	}
	return kv.Find(kv.Hurts, "%s: its clock is %v %s that of this machine, so records expire at the wrong time: have both set their clocks by the network (NTP)",
		addr, off.Round(time.Second), is)
}

const fullFrom = 80

// FindMemory reports how full the server's memory is. setting is the option that limits it.
func FindMemory(addr, setting string, used, limit int64) kv.Finding {
	full := int(float64(used) / float64(limit) * 100)
	if full < fullFrom {
		return kv.Find(kv.Fine, "%s: %d %% of its memory is used", addr, full)
	}
	return kv.Find(kv.Hurts, "%s: %d %% of its memory is used: raise %s before it is full, or delete what is not needed; sizes says what takes most", addr, full, setting)
}
