// Package memcachekv is a store on one or more memcached servers. It is
// VOLATILE: what it holds lives in the servers' memory, is gone when a server
// restarts, and may be evicted one by one when a server is full, unless it
// runs with -M, which refuses new data instead and is what indexes need.
//
// Each key lives on one server, chosen by rendezvous hashing of the servers'
// names as they are written, in whatever order: a server that is added takes
// over its share of the keys and leaves all others where they are. A server
// that is down is not skipped: its keys are unavailable until it is back.
//
// # A server that has lost its memory
//
// At first contact the store reads the server's boot number, an item that it
// adds if there is none, and it looks again on every new connection and at
// least once a minute on each one in use. A restart breaks all connections, so
// no operation reaches a server that has restarted before the loss was
// noticed. From then on every operation on that server ends in
// kv.ErrLost, until [Store.Accept] is called. A flushed server, one that
// has evicted its boot number, and another server at the same address count
// as lost too; the first two are noticed within the minute, not at once.
//
// The number is remembered by this process alone. One that starts after the
// loss meets the server as it is and takes it for a new, empty one; processes
// that have known it longer keep answering ErrLost until each of them accepts
// or restarts. The servers must be reached directly: a proxy between would
// hide their restarts.
//
// # What differs from the specification
//
//   - Append fails at the server's item limit (-I, 1 MiB by default), which
//     lies a little above kv.MaxValue. A limit below MaxValue makes larger
//     values kv.ErrTooLarge.
//   - Append does not mix well with numbers, which are kept as memcached
//     counts them. Where something was appended to a number that had lost a
//     digit, or something that begins with white space or a zero byte to any
//     number, Increment overwrites it. Digits appended to an empty value do not
//     make a number. A blank appended to a number costs it its TTL, and an
//     Append that begins with a blank costs a get besides.
//   - An Increment past kv.MaxNumber is taken back, so it leaves the
//     number but not its version, and others may see the sum in between.
//   - An item whose expiry lies past January 2038 is kept for ever, since the
//     library cannot say such a date. TTLs over 30 days are sent as a date, so
//     they go by the clocks of both machines.
//   - Set costs a second exchange with the server where the key is absent: the
//     command that would do it in one removes the old value when it fails.
package memcachekv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Options change how a Store reaches its servers. The zero value is good for
// servers in the same network.
type Options struct {
	// Timeout is how long each step of an operation may keep it waiting when
	// its context allows more: a free connection, a new one, the server's next
	// word. 0 means one second.
	Timeout time.Duration

	// Conns is how many connections to each server may be in use at once, and
	// how many are kept. What comes then waits its turn. 0 means 64.
	Conns int
}

func (o Options) withDefaults() (Options, error) {
	if o.Timeout < 0 || o.Conns < 0 {
		return o, fmt.Errorf("memcachekv: negative option in %+v", o)
	}
	if o.Timeout == 0 {
		o.Timeout = time.Second
	}
	if o.Conns == 0 {
		o.Conns = 64
	}
	return o, nil
}

// Store is a kv.Store on memcached servers.
type Store struct {
	servers []*server
}

var _ kv.Store = (*Store)(nil)

// OpenVolatile returns the store kept by servers, each written as host:port.
// Every process must be given the same names, in any order. Nothing is sent
// yet: a server that is down shows at the first operation on it. The error is
// about servers or opts that make no sense.
func OpenVolatile(servers []string, opts Options) (*Store, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(servers) == 0 {
		return nil, errors.New("memcachekv: no servers given")
	}
	s := new(Store)
	for i, addr := range servers {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, fmt.Errorf("memcachekv: server %q is not host:port: %w", addr, err)
		}
		if slices.Contains(servers[:i], addr) {
			return nil, fmt.Errorf("memcachekv: server %q is given twice", addr)
		}
		s.servers = append(s.servers, newServer(addr, opts))
	}
	return s, nil
}

// Do sends all gets for one server as one request and each write as one of
// its own, all at the same time as far as Options.Conns allows. A single op
// runs on the caller's goroutine.
func (s *Store) Do(ctx context.Context, ops []kv.Op) error {
	if kv.Check(ops, kv.Powers{}) == 0 {
		return nil
	}
	if len(ops) == 1 {
		pick(s.servers, ops[0].Key).do(ctx, &ops[0])
		return kv.Unanswered(ops)
	}
	fly(ctx, s.flights(ops))
	return kv.Unanswered(ops)
}

// Accept ends the refusal of all servers that have answered ErrLost so far:
// from now on what they do not have counts as absent. It is called when
// what was lost has been taken for lost, or before it is rebuilt. The error is
// a kv.ErrUnavailable that names the servers that could not be asked; the
// others are accepted all the same.
func (s *Store) Accept(ctx context.Context) error {
	var errs []error
	for _, srv := range s.servers {
		errs = append(errs, srv.accept(ctx))
	}
	return errors.Join(errs...)
}

// Close closes the connections: idle ones now, the others when their
// operation has ended.
func (s *Store) Close() error {
	for _, srv := range s.servers {
		srv.close()
	}
	return nil
}
