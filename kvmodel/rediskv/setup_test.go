package rediskv

import (
	"context"
	"crypto/rand"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// The tests share one server and one cluster, except those that break theirs. Each test uses keys
// of its own.
var (
	server  = sync.OnceValues(func() (*servers.Process, error) { return servers.Redis() })
	cluster = sync.OnceValues(servers.RedisCluster)
	used    struct{ server, cluster bool }
)

func TestMain(m *testing.M) {
	code := m.Run()
	if used.server {
		if p, err := server(); err == nil {
			p.Stop()
		}
	}
	if used.cluster {
		if c, err := cluster(); err == nil {
			c.Stop()
		}
	}
	os.Exit(code)
}

func serverAddr(t testing.TB) string {
	servers.Need(t, "redis-server")
	used.server = true
	p, err := server()
	must(t, err)
	return p.Addr
}

func clusterAddrs(t testing.TB) []string {
	servers.Need(t, "redis-server")
	used.cluster = true
	c, err := cluster()
	must(t, err)
	return c.Addrs()
}

func ownServer(t testing.TB, args ...string) *servers.Process {
	servers.Need(t, "redis-server")
	p, err := servers.Redis(args...)
	must(t, err)
	t.Cleanup(p.Stop)
	return p
}

func ownCluster(t testing.TB) *servers.Cluster {
	servers.Need(t, "redis-server")
	c, err := servers.RedisCluster()
	must(t, err)
	t.Cleanup(c.Stop)
	return c
}

func ownStore(t testing.TB) (*servers.Process, *Store) {
	t.Helper()
	p := ownServer(t)
	return p, openAt(t, p.Addr)
}

// keepingServer keeps its data over a restart.
func keepingServer(t testing.TB) *servers.Process {
	return ownServer(t, "--appendonly", "yes", "--appendfsync", "always")
}

func open(t testing.TB, opts Options) *Store {
	t.Helper()
	s, err := Open(context.Background(), opts)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

func openAt(t testing.TB, addrs ...string) *Store {
	t.Helper()
	return open(t, Options{Addrs: addrs})
}

func bothStores(t testing.TB) map[string]*Store {
	return map[string]*Store{
		"server":  openAt(t, serverAddr(t)),
		"cluster": openAt(t, clusterAddrs(t)...),
	}
}

func raw(t testing.TB, addr string, command ...string) rueidis.RedisResult {
	t.Helper()
	reply := order(t, addr, command...)
	if err := reply.Error(); err != nil && !rueidis.IsRedisNil(err) {
		t.Fatalf("%v: %v", command, err)
	}
	return reply
}

// order is raw for any goroutine: it does not end the test.
func order(t testing.TB, addr string, command ...string) rueidis.RedisResult {
	c, err := rueidis.NewClient(rueidis.ClientOption{
		InitAddress: []string{addr}, ForceSingleClient: true, DisableCache: true,
	})
	if err != nil {
		t.Errorf("%v: %v", command, err)
		return rueidis.NewErrorResult(err)
	}
	defer c.Close()
	reply := c.Do(context.Background(), c.B().Arbitrary(command...).Build())
	if err := reply.NonRedisError(); err != nil {
		t.Errorf("%v: %v", command, err)
	}
	return reply
}

// talkTo returns a connection to the server at addr.
func talkTo(t testing.TB, addr, password string) *talk {
	t.Helper()
	talk, err := newLine(Options{Patience: time.Minute}).talkTo(within(t, time.Minute), addr, "", password)
	must(t, err)
	t.Cleanup(func() { talk.conn.Close() })
	return talk
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func do(t testing.TB, s kv.Store, op kv.Op) kv.Result {
	t.Helper()
	r, _ := kv.One(within(t, time.Minute), s, op)
	return r
}

func mustDo(t testing.TB, s kv.Store, op kv.Op) kv.Result {
	t.Helper()
	r := do(t, s, op)
	if r.Err != nil {
		t.Fatalf("%v %s: %v", op.Kind, op.Key, r.Err)
	}
	return r
}

func wantValue(t testing.TB, s kv.Store, key, want string) {
	t.Helper()
	proof.Equal(t, string(mustDo(t, s, kv.OpGet(key)).Value), want, "%s", key)
}

func wantNumber(t testing.TB, s kv.Store, op kv.Op, want int64) {
	t.Helper()
	proof.Equal(t, mustDo(t, s, op).Number, want, "%v %s answered", op.Kind, op.Key)
}

var must = proof.Must

func wantText(t testing.TB, got string, want ...string) {
	t.Helper()
	for _, text := range want {
		proof.Contains(t, got, text)
	}
}

// proxy returns a proxy of the server at addr. It cuts a connection unless its data passes.
func proxy(t testing.TB, addr string, passes func(chunk []byte) bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var all sync.WaitGroup
	ended := make(chan struct{})
	carry := func(to, from net.Conn) {
		defer to.Close()
		defer from.Close()
		for buf := make([]byte, 64<<10); ; {
			n, err := from.Read(buf)
			if err != nil || !passes(buf[:n]) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	all.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addr)
			if err != nil {
				client.Close()
				continue
			}
			all.Go(func() { carry(server, client) })
			all.Go(func() { carry(client, server) })
			all.Go(func() { <-ended; client.Close(); server.Close() })
		}
	})
	t.Cleanup(func() {
		l.Close()
		close(ended)
		all.Wait()
	})
	return l.Addr().String()
}

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
