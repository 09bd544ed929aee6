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
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/boot"
	"github.com/ringtree/ringtree/internal/contact"
	"github.com/ringtree/ringtree/internal/storeurl"
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

// Engine opens stores on memcached from their URLs, for package kvopen.
var Engine = kv.Engine{
	{Name: "memcached", Form: "memcached://HOST:PORT,HOST:PORT", Open: openURL},
}

func openURL(ctx context.Context, rest string, options url.Values) (kv.Store, error) {
	given := storeurl.New(options)
	opts := Options{
		Timeout: given.Duration("timeout"),
		Conns:   given.Number("conns", 1, 10_000),

		PipelineWrites: given.Choice("pipeline", "all", "writes") == 1,
	}
	volatile := given.Choice("volatile", "off", "on") == 1
	near := given.Near("SIZE,AGE", true)
	if err := given.Check(); err != nil {
		return nil, err
	}
	a, err := storeurl.ParseAddress(rest, "11211")
	if err != nil {
		return nil, err
	}
	if a.User != "" || a.Password != "" {
		return nil, errors.New("memcached has no users and passwords")
	}
	if a.Path != "" {
		return nil, errors.New("only options may follow the hosts")
	}
	s, err := OpenVolatile(a.Hosts, opts)
	if err != nil {
		return nil, err
	}
	if !volatile {
		if err := s.refuseEviction(ctx); err != nil {
			s.Close()
			return nil, err
		}
	}
	return storeurl.Keep(s, near)
}

// refuseEviction returns an error that names the servers that evict items, and logs the silent
// ones.
func (s *Store) refuseEviction(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	says := askEach(s, func(srv *server) string { return srv.evictions(ctx) })
	var evict, unsaid []string
	for i, srv := range s.servers {
		switch says[i] {
		case "off":
		case "on":
			evict = append(evict, srv.addr)
		default:
			unsaid = append(unsaid, srv.addr)
		}
	}
	if len(evict) > 0 {
		return fmt.Errorf("memcachekv: %s: it drops items when its memory is full, which breaks indexes: start memcached with -M, or set volatile=on in the URL for data that may be lost at any time", strings.Join(evict, ", "))
	}
	if len(unsaid) > 0 {
		slog.Warn("ringtree: cannot tell whether memcached drops items when its memory is full: make sure it was started with -M", "servers", unsaid)
	}
	return nil
}

func (s *server) evictions(ctx context.Context) (says string) {
	_ = s.talk(ctx, func(conn io.Writer, in *bufio.Reader) error {
		settings, err := askStats(conn, in, "stats settings")
		says = settings["evictions"]
		return err
	})
	return says
}
