package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"

	"github.com/ringtree/ringtree/bench/internal/stores"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

// backend is an empty store of one kind, with room for millions of small items.
type backend struct {
	name  string
	store kvmodel.Store
	addrs []string // of its servers
	stop  func()   // ends what the store stands on

	// settle is how many trips a write takes after its append: a read of the head,
	// where a store cannot refuse an append after a seal.
	settle float64
}

// opener opens a backend.
type opener func(*bench) (backend, error)

// The backends: those of one process or server, and all there are.
var (
	single   = []opener{onMemory, onBolt, onMemcached, onRedis}
	backends = append(single[:4:4], onCluster)
)

// eachOf calls f with what each of opens opens, one after the other.
func (b *bench) eachOf(opens []opener, f func(backend) error) error {
	for _, open := range opens {
		on, err := open(b)
		if err != nil {
			return err
		}
		err = errors.Join(f(on), on.store.Close())
		on.stop()
		if err != nil {
			return fmt.Errorf("%s: %w", on.name, err)
		}
	}
	return nil
}

func onMemory(*bench) (backend, error) {
	return backend{name: "memkv", store: memkv.New(memkv.Options{}), stop: func() {}}, nil
}

func onBolt(b *bench) (backend, error) { return b.bolt(boltkv.Options{}) }

// onUnsyncedBolt opens an embedded store that does not wait for the disk. The counts
// do not depend on that.
func onUnsyncedBolt(b *bench) (backend, error) {
	return b.bolt(boltkv.Options{Durability: boltkv.Unsynced})
}

func (b *bench) bolt(opts boltkv.Options) (backend, error) {
	dir, err := os.MkdirTemp(b.dir, "bolt-")
	if err != nil {
		return backend{}, err
	}
	s, err := boltkv.Open(dir+"/store.db", opts)
	return backend{name: "boltkv", store: s, stop: func() { os.RemoveAll(dir) }}, err
}

func onMemcached(*bench) (backend, error) {
	if err := need("memcached"); err != nil {
		return backend{}, err
	}
	server, err := servers.Memcached("-m", "2048")
	if err != nil {
		return backend{}, err
	}
	addrs := []string{server.Addr}
	s, err := memcachekv.OpenVolatile(addrs, memcachekv.Options{})
	return backend{"memcachekv", s, addrs, server.Stop, 1}, err
}

func onRedis(b *bench) (backend, error) {
	if err := need("redis-server"); err != nil {
		return backend{}, err
	}
	server, err := servers.Redis()
	if err != nil {
		return backend{}, err
	}
	return b.redis("rediskv", []string{server.Addr}, server.Stop)
}

func onCluster(b *bench) (backend, error) {
	if err := need("redis-server"); err != nil {
		return backend{}, err
	}
	cluster, err := servers.RedisCluster()
	if err != nil {
		return backend{}, err
	}
	return b.redis("rediskv on a cluster", cluster.Addrs(), cluster.Stop)
}

func (b *bench) redis(name string, addrs []string, stop func()) (backend, error) {
	s, err := rediskv.Open(b.ctx, rediskv.Options{Addrs: addrs})
	return backend{name: name, store: s, addrs: addrs, stop: stop}, err
}

// need returns an error that says what to install if program is not there.
func need(program string) error {
	if _, err := exec.LookPath(program); err != nil {
		return fmt.Errorf("%s is not installed: run make setup", program)
	}
	return nil
}

// open returns a database in s, as a process of its own would open it. It does
// not close s.
func open(s kvmodel.Store, opts ...kvmodel.Option) (*kvmodel.DB, error) {
	return kvmodel.Open(stores.Outliving{Store: s}, append(opts, kvmodel.Log(slog.New(slog.DiscardHandler)))...)
}
