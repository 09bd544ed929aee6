package memcachekv_test

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
)

// TestStore_KeepsTheContract_OnTwoServers holds the store to the suite.
func TestStore_KeepsTheContract_OnTwoServers(t *testing.T) {
	bothWays(t, func(t *testing.T, opts memcachekv.Options) {
		kvtest.Run(t, suiteMaker([]string{memcached(t).Addr, memcached(t).Addr}, opts))
	})
}

// bothWays runs test with stores that leave to the library what they can, and with
// stores that leave nothing to it.
func bothWays(t *testing.T, test func(*testing.T, memcachekv.Options)) {
	t.Run("pipeline=writes", func(t *testing.T) { test(t, memcachekv.Options{}) })
	t.Run("pipeline=all", func(t *testing.T) { test(t, memcachekv.Options{PipelineAll: true}) })
}

// suiteMaker makes stores on the servers at addrs, with a tenant for each name.
func suiteMaker(addrs []string, opts memcachekv.Options) kvtest.Maker {
	salt := strconv.FormatUint(rand.Uint64(), 36)
	return kvtest.Maker{
		Open: func(t testing.TB, name string) kv.Store {
			t.Helper()
			tenant, err := kv.Prefix(open(t, opts, addrs...), salt+name)
			if err != nil {
				t.Fatal(err)
			}
			return tenant
		},
		Shared: true,
		Kept:   true,
		Prefix: kv.MaxTenant,
		Loose:  true,
	}
}

// memcached starts a server that ends with the test.
func memcached(t testing.TB, args ...string) *servers.Process {
	t.Helper()
	servers.Need(t, "memcached")
	p, err := servers.Memcached(args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// open returns a store on the servers at addrs and closes it when the test ends.
func open(t testing.TB, opts memcachekv.Options, addrs ...string) *memcachekv.Store {
	t.Helper()
	s, err := memcachekv.OpenVolatile(addrs, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}
