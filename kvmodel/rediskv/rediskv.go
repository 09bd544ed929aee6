// Package rediskv is a store on Redis or Valkey, a single server or a cluster.
//
// Each item is one Redis string: a byte that tells the format, the item's
// version of eight random bytes, and the value. What Redis has no command for
// (compares, guarded appends and increments) is done by one script, so every
// op is atomic on its key. Redis 6.0 or later is needed, for SET KEEPTTL.
//
// A trip is one flight of pipelined commands, also across the nodes of a
// cluster. On a single server a trip that writes is one run of the script, so
// that its ops take effect in their order ([kv.Powers].Ordered); one of
// more than a thousand ops or eight MiB is several flights, each sent after
// the one before was answered.
//
// While a server fails over, restarts or cannot be reached, a call keeps
// trying what may be repeated: gets, and ops that were certainly not carried
// out. A write that was sent and not answered is never sent again; such is
// also the first write on an idle connection whose server has died within the
// last second.
//
// # Caveats
//
// Replication is asynchronous: a failover, or the restart of a server that
// does not write every command to disk, loses writes that were acknowledged,
// and nothing here notices. [Options].WaitReplicas makes that rarer.
//
// A key that holds something else than an item is ErrUnavailable for all ops
// but Set and Delete, which replace and remove it, and Add, which is
// ErrExists. In a trip of several gets to a single server, a key that holds no
// Redis string at all (a list, a hash) reads as absent, since that is what
// MGET says.
package rediskv

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/rueidis"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Options say which server a Store uses, and how. Only Addrs is needed.
type Options struct {
	// Addrs are the server's address, host:port, or those of some nodes of one
	// cluster. One address of a cluster is enough to find the others.
	Addrs []string

	Username, Password string
	DB                 int         // of a single server
	TLS                *tls.Config // nil: no TLS

	// Patience is how long a call under a context without a deadline keeps
	// trying while the server cannot be reached or refuses for the moment, and
	// how long a server may be silent before its connection is given up. It
	// should exceed the time of a failover. 0 means 5 s.
	Patience time.Duration

	// WaitReplicas, if not 0, is the number of replicas that must confirm what
	// a trip writes, within WaitTimeout (0 means 1 s); otherwise its writes
	// are ErrUnclear. Such a trip takes connections for itself, in a cluster
	// one for each write. It makes the loss of an acknowledged write by a
	// failover rarer and not impossible: the replica that takes over may be
	// one that did not confirm, and one that confirmed may restart empty.
	WaitReplicas int
	WaitTimeout  time.Duration
}

// Store is a kv.Store on Redis.
type Store struct {
	opts    Options
	where   string // the addresses, for messages
	client  rueidis.Client
	cluster bool
	script  script
	senders senders
	flights sync.Pool // of *flight, to use again
	closed  atomic.Bool
}

var _ kv.Store = (*Store)(nil)

// Open connects to the server or cluster and finds out which it is. It
// returns an ErrUnavailable if none of the addresses answers as Redis does.
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
	client, err := connect(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("rediskv: open %s: %w: %w", strings.Join(opts.Addrs, ","), kv.ErrUnavailable, err)
	}
	return &Store{
		opts:    opts,
		where:   strings.Join(opts.Addrs, ","),
		client:  client,
		cluster: client.Mode() == rueidis.ClientModeCluster,
		script:  newScript(),
		senders: newSenders(),
	}, nil
}

func (o Options) check() error {
	if len(o.Addrs) == 0 {
		return errors.New("no address of a server is given")
	}
	for _, addr := range o.Addrs {
		if _, _, err := net.SplitHostPort(addr); err != nil {
			return fmt.Errorf("address %q is not host:port: %w", addr, err)
		}
	}
	if o.DB < 0 || o.Patience < 0 || o.WaitReplicas < 0 || o.WaitTimeout < 0 {
		return errors.New("DB, Patience, WaitReplicas and WaitTimeout must not be negative")
	}
	return nil
}

// connect returns a client once it has reached a server, or an error when ctx
// ends.
func connect(ctx context.Context, opts Options) (rueidis.Client, error) {
	type connected struct {
		client rueidis.Client
		err    error
	}
	done := make(chan connected, 1)
	go func() {
		client, err := rueidis.NewClient(clientOption(opts))
		done <- connected{client, err}
	}()
	select {
	case c := <-done:
		return c.client, c.err
	case <-ctx.Done():
		go func() {
			if c := <-done; c.err == nil {
				c.client.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

func clientOption(opts Options) rueidis.ClientOption {
	return rueidis.ClientOption{
		InitAddress:      opts.Addrs,
		Username:         opts.Username,
		Password:         opts.Password,
		SelectDB:         opts.DB,
		TLSConfig:        opts.TLS,
		Dialer:           net.Dialer{Timeout: min(opts.Patience, rueidis.DefaultDialTimeout)},
		ConnWriteTimeout: opts.Patience,
		DisableCache:     true,
		// One connection to a server gathers more commands per write than several.
		PipelineMultiplex: -1,
		// Do retries, since only it knows what must not be repeated.
		DisableRetry:  true,
		ClusterOption: rueidis.ClusterOption{MaxMovedRedirections: 8},
	}
}

// Close gives the connections back. Calls under way end as they may.
func (s *Store) Close() error {
	if !s.closed.Swap(true) {
		s.client.Close()
		close(s.senders.quit)
	}
	return nil
}

// Powers returns Unless, and Ordered on a single server.
func (s *Store) Powers() kv.Powers {
	return kv.Powers{Unless: true, Ordered: !s.cluster}
}
