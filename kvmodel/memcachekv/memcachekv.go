// Package memcachekv is a store on one or more memcached servers. It is VOLATILE: its items are
// gone when a server restarts. docs/memcached.md describes losses and outages.
//
// Rendezvous hashing of the servers' names chooses the server of a key: a new server takes over its
// share of the keys, and all others stay. A server that is down is not skipped.
//
// Every server holds a boot item with the list of the store's servers, so each is a witness of the
// others. The store checks it before the first operation on a new connection, and every 15 seconds.
// A restart breaks all connections, so no operation reaches a restarted server unnoticed, unless a
// proxy hides it.
//
// # Differences from the specification
//
//   - Append fails at the server's item limit (-I, 1 MiB by default), slightly more than
//     kv.MaxValue. A limit below MaxValue makes larger values kv.ErrTooLarge.
//   - Append does not mix well with numbers. After an append to a number that has lost a digit, or
//     of text with leading white space or a zero byte to any number, Increment overwrites the
//     value. Digits appended to an empty value do not make a number. Appending a blank to a number
//     removes its TTL, and an Append that begins with a blank costs an extra get.
//   - An Increment past kv.MaxNumber is undone: the number stays, but not its version, and others
//     may see the sum in between.
//   - An item that expires after January 2038 is kept forever. A TTL over 30 days depends on the
//     clocks of both machines.
//   - Set costs a second exchange with the server if the key is absent: the command that needs only
//     one removes the old value when it fails.
package memcachekv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/boot"
	"github.com/ringtree/ringtree/internal/contact"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Options configure a Store. The zero value suits servers in the same network.
type Options struct {
	// Timeout bounds each step of an operation: waiting for a free connection, for a new one, for
	// the server's next answer. A server silent for that long counts as unavailable. 0 means one
	// second.
	Timeout time.Duration

	// Conns limits the connections to each server; further requests wait. 0 means 64.
	Conns int

	// PipelineWrites leaves single ops and trips that only read to the library.
	PipelineWrites bool
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
	opts     Options
	servers  []*server
	contacts *contact.Servers
	memory   *boot.Memory
}

var _ kv.Store = (*Store)(nil)

// OpenVolatile returns a store on servers, each host:port. Give every process the same names, in
// any order. It sends nothing: if a server is down, the first operation on it fails.
func OpenVolatile(servers []string, opts Options) (*Store, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, err
	}
	if len(servers) == 0 {
		return nil, errors.New("memcachekv: no servers given")
	}
	dialer := net.Dialer{Timeout: opts.Timeout}
	s := &Store{opts: opts, contacts: contact.New(opts.Timeout, "version\r\n", func(ctx context.Context, addr string) (net.Conn, error) {
		return dialer.DialContext(ctx, "tcp", addr)
	})}
	for i, addr := range servers {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return nil, fmt.Errorf("memcachekv: server %q is not host:port: %w", addr, err)
		}
		if strings.ContainsAny(addr, " ,") {
			return nil, fmt.Errorf("memcachekv: server %q holds a blank or a comma", addr)
		}
		if slices.Contains(servers[:i], addr) {
			return nil, fmt.Errorf("memcachekv: server %q is given twice", addr)
		}
		srv := newServer(addr, opts)
		srv.connect = s.contacts.Dial
		s.servers = append(s.servers, srv)
	}
	s.memory = newMemory(s.servers)
	return s, nil
}

// Powers returns the powers of memcached. The Patience is five times the Timeout.
func (s *Store) Powers() kv.Powers {
	return kv.Powers{Keys: s.keys, Patience: 5 * s.opts.Timeout, Outages: s.contacts.Outages, Losses: s.memory, Findings: s.findings}
}

// Do sends all ops for a server together, on one connection, and to all servers concurrently.
func (s *Store) Do(ctx context.Context, ops []kv.Op) error {
	if kv.Check(ops, s.Powers()) == 0 {
		return nil
	}
	if len(ops) == 1 {
		pick(s.servers, ops[0].Key).do(ctx, &ops[0])
		return kv.Unanswered(ops)
	}
	fly(ctx, s.flights(ops))
	return kv.Unanswered(ops)
}

// Close closes the connections: idle ones now, the others after their operation.
func (s *Store) Close() error {
	for _, srv := range s.servers {
		srv.close()
	}
	s.contacts.Close()
	return nil
}
