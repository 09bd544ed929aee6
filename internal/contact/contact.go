// Package contact is what a store knows of its servers: whether they answer, and how they fare.
//
// A store makes its connections through [Servers], which looks at what goes over
// them. A server is away when it cannot be connected to, or when it has been asked
// and has said nothing for as long as the store's patience. Nothing waits for a
// server that is away: its connections are closed, and a new one is refused at
// once. In the background one try after another is made to reach it, until it
// answers.
//
// Where nothing listens at the address, a caller learns that sooner by a try of its
// own than by waiting for the next one. Such tries are made one at a time, too.
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
	tries    sync.WaitGroup // the goroutines that try to reach servers

	mu      sync.Mutex
	servers map[string]*server
	hears   []func(kv.Outage)
}

// New returns servers that dial connects to. They are away after a silence of
// patience. hello is a request that a server answers in every state.
func New(patience time.Duration, hello string, dial Dialer) *Servers {
	s := &Servers{patience: patience, hello: []byte(hello), dial: dial, servers: make(map[string]*server)}
	s.open, s.end = context.WithCancel(context.Background())
	return s
}

// Close ends the tries to reach servers that are away.
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

// Outages makes hear be called when an outage of a server begins and when it is
// over. See [kv.Powers].
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

// Dial connects to the server at addr. Where that fails, or the server is away,
// the error is a *net.OpError whose Op is "dial", and nothing was sent.
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

// address is a server's name as it is dialed.
type address string

func (a address) Network() string { return "tcp" }
func (a address) String() string  { return string(a) }

// silence is the error of a server that did not answer for that long.
type silence time.Duration

func (s silence) Error() string { return fmt.Sprintf("no answer for %v", time.Duration(s)) }
