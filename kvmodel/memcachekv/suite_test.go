package memcachekv

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// TestStore_KeepsTheContract_OnTwoServers holds the store to the suite.
func TestStore_KeepsTheContract_OnTwoServers(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, opts Options) {
		kvtest.Run(t, suiteMaker([]string{memcached(t).Addr, memcached(t).Addr}, opts))
	})
}

// bothWays runs test with stores that leave to the library what they can and, at the same time, with
// stores that leave nothing to it.
func bothWays(t *testing.T, test func(*testing.T, Options)) {
	proof.AtOnce(t, map[string]Options{"pipeline=all": {}, "pipeline=writes": {PipelineWrites: true}}, test)
}

// suiteMaker makes stores on the servers at addrs, with a tenant for each name.
func suiteMaker(addrs []string, opts Options) kvtest.Maker {
	salt := strconv.FormatUint(rand.Uint64(), 36)
	return kvtest.Maker{
		Open: func(t testing.TB, name string) kv.Store {
			t.Helper()
			tenant, err := kv.Prefix(open(t, opts, addrs...), salt+name)
			must(t, err)
			return tenant
		},
		Clocks: func(t testing.TB) []time.Time { return clocks(t, addrs) },
		Shared: true,
		Kept:   true,
		Prefix: kv.MaxTenant,
		Loose:  true,
	}
}

// clocks returns what the clocks of the servers at addrs tell. Memcached counts seconds
// with a timer, which is late where the machine is busy.
func clocks(t testing.TB, addrs []string) []time.Time {
	t.Helper()
	var told []time.Time
	for _, addr := range addrs {
		for line := range strings.Lines(ask(t, addr, "stats")) {
			if text, ok := strings.CutPrefix(line, "STAT time "); ok {
				seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
				must(t, err)
				told = append(told, time.Unix(seconds, 0))
			}
		}
	}
	if len(told) != len(addrs) {
		t.Fatalf("%d of %d servers tell the time", len(told), len(addrs))
	}
	return told
}

// ask returns what the server at addr answers to a command, up to END.
func ask(t testing.TB, addr, command string) string {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	must(t, err)
	defer c.Close()
	proof.Done(t)(fmt.Fprintf(c, "%s\r\n", command))
	var answer strings.Builder
	for in := bufio.NewScanner(c); in.Scan() && in.Text() != "END"; {
		answer.WriteString(in.Text() + "\n")
	}
	return answer.String()
}

// memcached starts a server that ends with the test.
func memcached(t testing.TB, args ...string) *servers.Process {
	t.Helper()
	servers.Need(t, "memcached")
	p, err := servers.Memcached(args...)
	must(t, err)
	t.Cleanup(p.Kill)
	return p
}

// open returns a store on the servers at addrs and closes it when the test ends.
func open(t testing.TB, opts Options, addrs ...string) *Store {
	t.Helper()
	s, err := OpenVolatile(addrs, opts)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}
