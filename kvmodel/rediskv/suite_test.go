package rediskv

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// maker gives each store its own tenant on the servers. All tenants are equally long, and new in
// each run.
func maker(addrs ...string) kvtest.Maker {
	run := rand.Text()[:12]
	return kvtest.Maker{
		Open: func(t testing.TB, name string) kv.Store {
			pad := strings.Repeat("-", kv.MaxTenant-len(run)-len(name))
			s, err := kv.Prefix(openAt(t, addrs...), run+pad+name)
			must(t, err)
			return s
		},
		Shared: true,
		Kept:   true,
		Prefix: kv.MaxTenant + 1,
	}
}

func TestStore_KeepsTheContractOnAServer(t *testing.T) { kvtest.Run(t, maker(serverAddr(t))) }

func TestStore_KeepsTheContractOnACluster(t *testing.T) { kvtest.Run(t, maker(clusterAddrs(t)...)) }
