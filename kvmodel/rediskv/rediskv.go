// Package rediskv is a store on Redis or Valkey, a single server or a cluster. docs/redis.md
// describes outages, failovers and losses.
//
// An item is a Redis string: a format byte, a version of eight random bytes, and the value. A
// script implements the ops that Redis has no command for, so every op is atomic on its key.
//
// A trip is one flight of pipelined commands, even across the nodes of a cluster. On a single
// server the ops of a writing trip take effect in order, in a MULTI block or one run of the script.
// A trip of more than a thousand ops or eight MiB is several flights, each sent after the previous
// one was answered.
//
// While a server fails over or loads its data, a call retries gets, and ops that were certainly not
// carried out. A write that was sent and not answered is never sent again.
//
// Boot items show that a server has lost everything: one on a server, and 64 on a cluster, evenly
// spread over the slots. The store checks them on each new connection and every 15 seconds.
//
// A key with a foreign value is ErrUnavailable, except for Set, Delete and Add, which is ErrExists.
// In a trip of several gets to a single server, a list or hash reads as absent, as in the reply of
// MGET.
package rediskv

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"
	"github.com/ringtree/ringtree/internal/boot"
	"github.com/ringtree/ringtree/internal/contact"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Options configure a Store. Only Addrs is required.
type Options struct {
	// Addrs holds the server's address, host:port, or those of some nodes of a cluster, or of the
	// sentinels.
	Addrs    []string
	Sentinel *Sentinel

	Username, Password string
	DB                 int         // on a single server
	TLS                *tls.Config // nil: no TLS

	// Patience is how long a server may be silent before it counts as unavailable, and how long a
	// call without a deadline retries. 0 means 5 s.
	Patience time.Duration

	// WaitReplicas is the number of replicas that must confirm a trip's writes within WaitTimeout
	// (0 means 1 s); otherwise they are ErrUnclear. Such a trip takes extra connections, on a
	// cluster one for each write. A failover can still lose a confirmed write, to a replica that
	// did not confirm it or has restarted empty.
	WaitReplicas int
	WaitTimeout  time.Duration

	// Durable makes Open fail, with an error that names the settings to change, unless every server
	// writes each command to disk before it answers, and evicts nothing. If masters have replicas,
	// WaitReplicas is at least 1. On a cluster and with Sentinel, each master must have one.
	// Unknown settings are logged.
	Durable bool

	// Volatile accepts servers that evict items, for data that may be lost at any time.
	Volatile bool

	// Log receives warnings; nil means slog.Default.
	Log *slog.Logger

	// Track makes the servers report changes, for [github.com/ringtree/ringtree/kvmodel/nearkv]. A
	// single server remembers the keys of the process's near reads, and each server of a cluster
	// those of all its reads.
	Track bool
}

// Store is a kv.Store on Redis.
type Store struct {
	opts    Options
	where   string // the addresses, for errors
	client  rueidis.Client
	line    line
	servers *contact.Servers
	cluster bool

	sentinels *sentinels
	script    script
	senders   senders
	changes   *changes                    // nil without Track
	picks     bool                        // the server tracks only reads after CLIENT CACHING YES
	flights   sync.Pool                   // of *flight
	memory    atomic.Pointer[boot.Memory] // nil until Open has connected
	closed    atomic.Bool

	// answered is the memory's doubts plus one when a single server last answered a sender.
	answered atomic.Uint64
}

var _ kv.Store = (*Store)(nil)

// Open connects to the server or cluster. It returns an ErrUnavailable if no address answers as
// Redis does, and an error with advice about servers that refuse needed commands, evict items, or
// do not meet Durable.
func Open(ctx context.Context, opts Options) (*Store, error) {
	if err := opts.check(); err != nil {
		return nil, fmt.Errorf("rediskv: %w", err)
	}
	if opts.Patience == 0 {
		opts.Patience = 5 * time.Second
	}
	if opts.WaitTimeout == 0 {
		opts.WaitTimeout = time.Second
	}
	if opts.Log == nil {
		opts.Log = slog.Default()
	}
	s := newStore(opts)
	client, err := s.connect(ctx)
	if err != nil {
		s.servers.Close()
		return nil, fmt.Errorf("rediskv: open %s: %w: %w", s.where, kv.ErrUnavailable, strange(err))
	}
	s.client, s.cluster = client, client.Mode() == rueidis.ClientModeCluster
	s.memory.Store(s.newMemory())
	if err := s.checkServers(ctx); err != nil {
		s.Close()
		return nil, fmt.Errorf("rediskv: open %s: %w", s.where, err)
	}
	if s.changes != nil {
		go everyTick(s.senders.quit, s.changes.tick)
	}
	if s.sentinels != nil {
		go s.sentinels.watch(s.senders.quit)
	}
	return s, nil
}

func strange(err error) error {
	if strings.Contains(err.Error(), "unknown message type") {
		return fmt.Errorf("it is not a Redis server: %w", err)
	}
	return err
}

func newStore(opts Options) *Store {
	s := &Store{
		opts:    opts,
		where:   strings.Join(opts.Addrs, ","),
		line:    newLine(opts),
		script:  newScript(),
		senders: newSenders(),
	}
	dial := s.line.dial
	if opts.Sentinel != nil {
		s.where = opts.Sentinel.Master + " of " + s.where
		s.sentinels = newSentinels(s.line)
		dial = s.sentinels.dial
	}
	s.servers = contact.New(opts.Patience, "PING\r\n", dial)
	if opts.Track {
		s.changes = &changes{store: s}
	}
	return s
}

func (s *Store) checkServers(ctx context.Context) error {
	ctx, cancel := kv.Patient(ctx, s.opts.Patience)
	defer cancel()
	if s.opts.Durable {
		if err := s.makeDurable(ctx); err != nil {
			return err
		}
	} else if err := s.checkSettings(ctx); err != nil {
		return err
	}
	return s.checkCommands(ctx)
}

func (o Options) check() error {
	if len(o.Addrs) == 0 {
		return errors.New("no address is given")
	}
	for _, addr := range o.Addrs {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return fmt.Errorf("address %q is not host:port: %w", addr, err)
		}
	}
	if o.Sentinel != nil && (o.Sentinel.Master == "" || strings.ContainsAny(o.Sentinel.Master, " \t\r\n")) {
		return fmt.Errorf("%q is not a valid name of a master", o.Sentinel.Master)
	}
	if o.DB < 0 || o.Patience < 0 || o.WaitReplicas < 0 || o.WaitTimeout < 0 {
		return errors.New("DB, Patience, WaitReplicas and WaitTimeout must not be negative")
	}
	return nil
}

// Close closes the connections. Running calls may fail.
func (s *Store) Close() error {
	if !s.closed.Swap(true) {
		s.client.Close()
		s.servers.Close()
		close(s.senders.quit)
	}
	return nil
}

// Powers returns the powers of a single server, or of a cluster, which is not Ordered.
func (s *Store) Powers() kv.Powers {
	p := kv.Powers{Unless: true, Ordered: !s.cluster, Keys: s.keys, Patience: s.opts.Patience, Outages: s.servers.Outages, Losses: s.memory.Load(), Findings: s.findings}
	if s.changes != nil {
		p.Changes = s.changes
	}
	return p
}

func (s *Store) connect(ctx context.Context) (rueidis.Client, error) {
	client, err := s.newClient(ctx)
	if err == nil && s.opts.Track && client.Mode() == rueidis.ClientModeStandalone {
		client.Close()
		s.picks = true
		client, err = s.newClient(ctx)
	}
	if errors.Is(err, rueidis.ErrNoCache) {
		err = errors.New("the server does not announce changes (CLIENT TRACKING of RESP3)")
	}
	return client, err
}

func (s *Store) newClient(ctx context.Context) (rueidis.Client, error) {
	type connected struct {
		client rueidis.Client
		err    error
	}
	done := make(chan connected, 1)
	go func() {
		client, err := rueidis.NewClient(s.clientOption())
		done <- connected{client, err}
	}()
	late := time.After(askAfter)
	for {
		var err error
		select {
		case c := <-done:
			if c.err != nil {
				c.err = cmp.Or(s.line.mistaken(ctx), c.err)
			}
			return c.client, c.err
		case <-late:
			if s.opts.TLS == nil {
				err = s.line.mistaken(ctx)
			}
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			go func() {
				if c := <-done; c.err == nil {
					c.client.Close()
				}
			}()
			return nil, err
		}
	}
}

func (s *Store) clientOption() rueidis.ClientOption {
	opts := s.opts
	option := rueidis.ClientOption{
		InitAddress: s.targets(),
		Username:    opts.Username,
		Password:    opts.Password,
		SelectDB:    opts.DB,
		TLSConfig:   opts.TLS,
		DialCtxFn:   s.dial,
		// The contacts detect a silent server earlier.
		Dialer:           net.Dialer{Timeout: 2 * opts.Patience},
		ConnWriteTimeout: 2 * opts.Patience,
		DisableCache:     true,
		// One connection to a server batches more commands per write than several.
		PipelineMultiplex: -1,
		// Only Store.Do knows which ops are safe to repeat.
		DisableRetry:  true,
		ClusterOption: rueidis.ClusterOption{MaxMovedRedirections: 8},

		ForceSingleClient: s.sentinels != nil,
	}
	if s.changes != nil {
		// Not for the client's cache, but for the messages.
		option.DisableCache, option.ClientTrackingOptions = false, []string{}
		if s.picks {
			option.ClientTrackingOptions = []string{"OPTIN"}
		}
		option.OnInvalidations = s.changes.hear
	}
	return option
}

func (s *Store) targets() []string {
	if s.sentinels != nil {
		return []string{s.sentinels.name}
	}
	return s.opts.Addrs
}
