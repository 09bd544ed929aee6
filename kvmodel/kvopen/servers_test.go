package kvopen_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

func wantCount(t *testing.T, url string, want int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := kvopen.Store(ctx, url, all.Engines)
	if err != nil {
		t.Error(err)
		return
	}
	defer s.Close()
	if n, err := kv.Next(ctx, s, "n", 0, 1); err != nil || n != want {
		t.Errorf("%s: want %d, got %d, %v", url, want, n, err)
	}
}

func TestStore_MemcachedIsReached(t *testing.T) {
	servers.Need(t, "memcached")
	server, err := servers.Memcached()
	must(t, err)
	defer server.Stop()
	wantCount(t, "memcached://"+server.Addr, 1)
	wantCount(t, "memcached://"+server.Addr+"?timeout=5s&conns=2", 2)
}

func TestStore_AMemcachedThatEvictsIsRefused(t *testing.T) {
	servers.Need(t, "memcached")
	server, err := servers.MemcachedThatEvicts()
	must(t, err)
	defer server.Stop()
	url := "memcached://" + server.Addr
	_, err = kvopen.Store(t.Context(), url, all.Engines)
	if err == nil || !strings.Contains(err.Error(), server.Addr) || !strings.Contains(err.Error(), "start memcached with -M, or set volatile=on") {
		t.Errorf("%s: want an error that names the server and -M, got %v", url, err)
	}
	wantCount(t, url+"?volatile=on", 1)
}

func TestOpen_AfterALossOpensSoThatItCanBeAccepted(t *testing.T) {
	servers.Need(t, "memcached")
	var addrs []string
	var running []*servers.Process
	for range 2 {
		server, err := servers.Memcached()
		must(t, err)
		defer server.Stop()
		addrs, running = append(addrs, server.Addr), append(running, server)
	}
	url := "memcached://" + strings.Join(addrs, ",")
	wantCount(t, url, 1)
	running[1].Kill()
	must(t, running[1].Start())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	db, err := kvopen.Open(ctx, url, all.Engines)
	must(t, err)
	defer db.Close(ctx)
	accepted, err := db.Accept(ctx)
	proof.Is(t, err, nil)
	proof.NoDiff(t, cmp.Diff(addrs[1:], accepted), "Accept, servers")
	for i := range 40 {
		proof.Ends(t, nil)(kv.One(ctx, db.Store(), kv.OpSet(fmt.Sprint("k", i), nil)))
	}
}

func TestStore_RedisIsLoggedIn(t *testing.T) {
	servers.Need(t, "redis-server")
	server, err := servers.Redis("--requirepass", "p@ss/w?rd")
	must(t, err)
	defer server.Stop()
	wantCount(t, "redis://:p%40ss/w%3Frd@"+server.Addr, 1)
	wantCount(t, "redis://default:p%40ss/w%3Frd@"+server.Addr+"/0?patience=2s", 2)
	wantCount(t, "redis://:p%40ss/w%3Frd@"+server.Addr+"/3", 1)

	for _, wrong := range []string{"", "default:guess@"} {
		_, err := kvopen.Store(t.Context(), "redis://"+wrong+server.Addr, all.Engines)
		if err == nil || strings.Contains(err.Error(), "guess") {
			t.Errorf("log in as %q: want an error without the password, got %v", wrong, err)
		}
	}
}

func TestEngine_WithAnOptionURLsHaveItUnlessTheyGiveIt(t *testing.T) {
	servers.Need(t, "redis-server")
	p, err := servers.Redis()
	must(t, err)
	defer p.Stop()
	for options, near := range map[string]bool{"": true, "?patience=1s": true, "?near=1MB": true, "?near=0": false} {
		s, err := kvopen.Store(t.Context(), "redis://"+p.Addr+options, rediskv.Engine.With("near", "64MB"))
		must(t, err)
		proof.Equal(t, kv.PowersOf(s).Near, near, "with the options %q it keeps what it reads", options)
		must(t, s.Close())
	}
	s, err := kvopen.Store(t.Context(), "redis://"+p.Addr, rediskv.Engine)
	must(t, err)
	defer s.Close()
	if kv.PowersOf(s).Near {
		t.Error("the engine has an option that only a copy of it was given")
	}
}

func TestStore_RedisClusterIsReachedByOneNode(t *testing.T) {
	servers.Need(t, "redis-server")
	cluster, err := servers.RedisCluster()
	must(t, err)
	defer cluster.Stop()
	wantCount(t, "redis-cluster://"+strings.Join(cluster.Addrs(), ","), 1)
	wantCount(t, "redis-cluster://"+cluster.Addrs()[1], 2)
}

func TestStore_ServerThatIsDownIsAnErrorAtOpening(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	down := listener.Addr().String()
	listener.Close()
	_, err = kvopen.Store(t.Context(), "redis://:secret@"+down, all.Engines)
	if !kv.Failed(err) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), down) {
		t.Errorf("want an ErrUnavailable that names %s and not the password, got %v", down, err)
	}
}

var must = proof.Must
