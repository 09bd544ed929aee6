// Package rediskv is a store on Redis or Valkey, a single server or a cluster.
//
// Each item is one Redis string: a format byte, the item's version of eight random bytes, and the
// value. A script implements the ops that Redis has no command for: compares, guarded appends and
// increments. So every op is atomic on its key. Redis 6.0 or later is required, for SET KEEPTTL.
//
// A trip is one flight of pipelined commands, even across the nodes of a cluster. On a single
// server the ops of a writing trip take effect in order ([kv.Powers].Ordered): if all of them set,
// add or delete, it is a MULTI block, and otherwise one run of the script. A trip of more than a
// thousand ops or eight MiB is several flights, each sent after the previous one was answered.
//
// While a server says that it fails over or loads its data, a call keeps retrying ops that are safe
// to repeat: gets, and ops that were certainly not carried out. A write that was sent and not
// answered is never sent again. That includes the first write on an idle connection whose server
// has died within the last second.
//
// If the server refuses connections, a call fails at once. If a server does not answer for
// [Options].Patience, the store closes its connections, and calls fail at once, too. The store
// keeps trying to reach it in the background, and calls work again when it answers.
//
// # Sentinels
//
// With [Options].Sentinel each connection goes to the server that most sentinels name as the
// master, and that confirms it. When they name another one, the store closes the connections to the
// old master before it uses one to the new, and checks its boot item like that of a restarted
// server.
//
// # Caveats
//
// Replication is asynchronous: a failover, or the restart of a server that does not write every
// command to disk, loses acknowledged writes, and nothing here notices while some of the data
// remains. [Options].Durable refuses to open such servers.
//
// A server that has lost everything, by FLUSHDB, a restart without its data, or a failover to an
// empty replica, is noticed by its boot items: one on a server, and 64 on a cluster, evenly spread
// over the slots. The store checks them on each new connection and every 15 seconds. After a loss
// every op on that server's keys is kv.ErrLost, until someone calls Accept ([kv.Losses]). On a
// cluster a process that starts after the loss notices it, too; on a single server it takes the
// server for a new one. A master with fewer than 256 slots in a row may have no such item.
//
// A key with a value that is not an item is ErrUnavailable for all ops but Set and Delete, which
// replace and remove it, and Add, which is ErrExists. In a trip of several gets to a single server,
// a key that is not a Redis string (a list, a hash) reads as absent, as in the reply of MGET.
package rediskv

import (
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

// Options configure a Store and its servers. Only Addrs is required.
type Options struct {
	// Addrs holds the server's address, host:port, or the addresses of some nodes of one cluster.
	// One address is enough to find the others. With Sentinel they are the addresses of the
	// sentinels.
	Addrs    []string
	Sentinel *Sentinel // nil: no sentinels

	Username, Password string
	DB                 int         // on a single server
	TLS                *tls.Config // nil means no TLS

	// Patience is how long a server may be silent before it counts as unavailable, and how long a
	// call whose context has no deadline keeps retrying while the server says that it cannot serve
	// it yet. 0 means 5 s.
	Patience time.Duration

	// WaitReplicas, if not 0, is the number of replicas that must confirm a trip's writes within
	// WaitTimeout (0 means 1 s); otherwise its writes are ErrUnclear. Such a trip takes extra
	// connections, in a cluster one for each write. It makes the loss of an acknowledged write in a
	// failover rarer, not impossible: the replica that takes over may be one that did not confirm,
	// and a replica that confirmed may restart empty.
	WaitReplicas int
	WaitTimeout  time.Duration

	// Durable makes Open fail unless every server writes each command to disk before it answers,
	// and evicts nothing when it is full; an error names the settings to change. If masters have
	// replicas, WaitReplicas is at least 1. On a cluster and with Sentinel, each master must have a
	// replica, to take over. Unknown settings are logged.
	Durable bool

	// Volatile lets Open accept servers that evict items when their memory is full, for data that
	// may be lost at any time. Otherwise Open rejects them, since indexes do not survive the loss
	// of single keys.
	Volatile bool

	// Log receives warnings about servers that may lose data; nil means slog.Default.
	Log *slog.Logger

	// Track makes the servers report changes of items this process has read, for
	// [github.com/ringtree/ringtree/kvmodel/nearkv]. For that a single server remembers the keys of
	// the process's near reads, and each server of a cluster those of all its reads.
	Track bool
}

// Store is a kv.Store on Redis.
type Store struct {
	opts    Options
	where   string // the addresses, for error messages
	client  rueidis.Client
	line    line
	servers *contact.Servers
	cluster bool

	sentinels *sentinels // nil: none
	script    script
	senders   senders
	changes   *changes                    // nil without Track
	picks     bool                        // with Track: the server tracks only reads after CLIENT CACHING YES
	flights   sync.Pool                   // of *flight, for reuse
	memory    atomic.Pointer[boot.Memory] // nil before Open has connected
	closed    atomic.Bool

	// answered is one more than the memory's number of doubts when a single server last answered a
	// sender.
	answered atomic.Uint64
}

var _ kv.Store = (*Store)(nil)

// Open connects to the server or cluster and detects its kind. It returns an ErrUnavailable if no
// address answers as Redis does, and an error with advice about servers that refuse needed
// commands, or do not meet Durable.
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

// strange adds a hint to err if the server is probably not Redis. The client has no error of its
// own for that.
func strange(err error) error {
	if strings.Contains(err.Error(), "unknown message type") {
		return fmt.Errorf("it is not a Redis server: %w", err)
	}
	return err
}

// newStore returns a store that is not connected yet.
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

// checkServers returns an error if the servers are unsuitable.
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

// Powers returns Unless, and Ordered on a single server, Keys, the Patience of the
// options, Outages and Losses.
func (s *Store) Powers() kv.Powers {
	p := kv.Powers{Unless: true, Ordered: !s.cluster, Keys: s.keys, Patience: s.opts.Patience, Outages: s.servers.Outages, Losses: s.memory.Load(), Findings: s.findings}
	if s.changes != nil {
		p.Changes = s.changes
	}
	return p
}
