// Package contact tracks the servers of a store: whether they answer, and their condition.
//
// A store makes its connections through [Servers], which watches their traffic. A server is away if
// it cannot be connected to, or if it was asked and has said nothing for the store's patience.
// Nothing waits for a server that is away: its connections are closed, and new ones are refused
// immediately. In the background, repeated attempts are made to reach it, until it answers.
//
// If nothing listens at the address, a caller learns of a return sooner by an attempt of its own
// than by waiting for the next one. Such attempts are made one at a time, too.
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

// Dialer connects to the server at addr.
type Dialer func(ctx context.Context, addr string) (net.Conn, error)

// Servers are the servers of a store.
type Servers struct {
	patience time.Duration
	hello    []byte
	dial     Dialer
	open     context.Context // ends with Close
	end      context.CancelFunc
	tries    sync.WaitGroup // goroutines that try to reach servers

	mu      sync.Mutex
	servers map[string]*server
	hears   []func(kv.Outage)
}

// New returns servers that dial connects to. They are away after a silence of patience. hello is a
// request that a server answers in any state.
func New(patience time.Duration, hello string, dial Dialer) *Servers {
	s := &Servers{patience: patience, hello: []byte(hello), dial: dial, servers: make(map[string]*server)}
	s.open, s.end = context.WithCancel(context.Background())
	return s
}

// Close ends the attempts to reach servers that are away.
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

// Outages registers hear, which is called when an outage of a server begins and when it ends. See
// [kv.Powers].
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

// Dial connects to the server at addr. If that fails, or the server is away, the error is a
// *net.OpError with the Op "dial", and nothing was sent.
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

// address is a server's address as dialed.
type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

// silence is the error of a server that did not answer for that long.
type silence time.Duration

func (s silence) Error() string { return fmt.Sprintf("no answer for %v", time.Duration(s)) }
