package proof_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/kvmodel/nearkv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

var backends = []struct {
	name  string
	loose bool
	open  func(t *testing.T) (kv.Store, error)
}{
	{"memkv", false, func(*testing.T) (kv.Store, error) { return memkv.New(memkv.Options{}), nil }},
	{"boltkv", false, func(t *testing.T) (kv.Store, error) {
		return boltkv.Open(filepath.Join(t.TempDir(), "db"), boltkv.Options{})
	}},
	{"memcachekv", true, func(t *testing.T) (kv.Store, error) { return onMemcached(t, memcachekv.Options{}) }},
	{"memcachekv pipeline=writes", true, func(t *testing.T) (kv.Store, error) {
		return onMemcached(t, memcachekv.Options{PipelineWrites: true})
	}},
	{"rediskv", false, func(t *testing.T) (kv.Store, error) { return onRedis(t, rediskv.Options{}) }},
	{"rediskv with a near cache", false, func(t *testing.T) (kv.Store, error) {
		s, err := onRedis(t, rediskv.Options{Track: true})
		if err != nil {
			return nil, err
		}
		near, err := nearkv.New(s, nearkv.Options{Bytes: 1 << 20})
		return kv.Near(near), err
	}},
	{"rediskv cluster", false, func(t *testing.T) (kv.Store, error) {
		servers.Need(t, "redis-server")
		c, err := servers.RedisCluster()
		if err != nil {
			return nil, err
		}
		t.Cleanup(c.Stop)
		return rediskv.Open(context.Background(), rediskv.Options{Addrs: c.Addrs()})
	}},
}

func onRedis(t *testing.T, opts rediskv.Options) (*rediskv.Store, error) {
	opts.Addrs = []string{servers.Of(t, "redis-server").Addr}
	return rediskv.Open(context.Background(), opts)
}

func onMemcached(t *testing.T, opts memcachekv.Options) (kv.Store, error) {
	addrs := []string{servers.Of(t, "memcached").Addr, servers.Of(t, "memcached").Addr}
	return memcachekv.OpenVolatile(addrs, opts)
}

func opened(t *testing.T, open func(*testing.T) (kv.Store, error)) kv.Store {
	t.Helper()
	s, err := open(t)
	proof.Must(t, err)
	t.Cleanup(func() {
		proof.Is(t, s.Close(), nil)
	})
	return s
}

func TestMetamorphic_EveryBackendAnswersAsMemkv(t *testing.T) {
	for _, b := range backends[1:] {
		t.Run(b.name, func(t *testing.T) {
			mem, other := memkv.New(memkv.Options{}), opened(t, b.open)
			for seed := range uint64(20) {
				proof.Metamorphic(t, seed, 200, proof.Named{Name: "memkv", Store: mem}, proof.Named{Name: b.name, Store: other, Loose: b.loose})
			}
		})
	}
}

func TestLong_EveryBackendIsLinearizable(t *testing.T) {
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			s := opened(t, b.open)
			n := 0
			for seed := range proof.Rounds(t, 5, 1000) {
				n++
				proof.Linearizable(t, s, 8, 50, seed)
			}
			if !t.Failed() {
				t.Logf("%d histories explained", n)
			}
		})
	}
}
