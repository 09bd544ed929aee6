package apptest

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// frail is a store that can be down.
type frail struct {
	kvmodel.Store
	down atomic.Bool
}

func (f *frail) Do(ctx context.Context, ops []kv.Op) error {
	if f.down.Load() {
		return kv.Fail(ops, kvmodel.ErrUnavailable)
	}
	return f.Store.Do(ctx, ops)
}

// While the store is down, every page says so. Nobody is logged out or shown anything
// that belongs to another member. When the store is back, everything works as before,
// without a restart.
func TestOutage_IsReportedAndPasses(t *testing.T) {
	store := &frail{Store: memkv.New(memkv.Options{})}
	s := open(t, store)
	c := &community{site: s, ann: s.member("ann"), ben: s.member("ben"), annElsewhere: s.visitor(), guest: s.visitor()}
	c.page = c.ann.write("tea", "Tea", "One cup.", "drinks")
	c.annElsewhere.logIn("ann", password)
	c.ben.want(c.ben.get("/m/ann"), 200)
	requests, before := c.requests(), c.state()

	store.down.Store(true)
	for _, path := range c.paths() {
		if strings.Contains(path, ".") || path == "/metrics" {
			continue // These do not ask the store.
		}
		got := c.ann.get(path)
		if path == "/write" || path == "/signup" || path == "/login" || path == "/nowhere" {
			// Such a page uses the store only to find out who the visitor is.
			if got.status != 503 && got.status != 200 && got.status != 404 {
				t.Errorf("%s while the store is down: status %d", path, got.status)
			}
			continue
		}
		c.ann.want(got, http.StatusServiceUnavailable)
		if text := shown(got.body); path != "/healthz" && (!strings.Contains(text, "The store is not responding") || strings.Contains(text, "One cup.")) {
			t.Errorf("%s while the store is down shows:\n%s", path, text)
		}
		if path != "/healthz" && got.header.Get("Retry-After") == "" {
			t.Errorf("%s while the store is down: want a Retry-After", path)
		}
	}
	for _, r := range requests {
		got := c.ann.post(r.path, r.fields...)
		if got.status != http.StatusServiceUnavailable {
			t.Errorf("POST %s while the store is down: want 503, got %d", r.path, got.status)
		}
	}
	got := c.ann.post("/write", "id", newID(7), "title", "Typed by hand", "body", "And long.", "slug", "typed")
	c.ann.want(got, http.StatusServiceUnavailable)
	if !strings.Contains(got.body, "And long.") {
		t.Errorf("what ann typed is lost:\n%s", shown(got.body))
	}

	store.down.Store(false)
	c.unchanged(before, "an outage")
	c.ann.want(c.ann.get("/p/tea"), 200, "One cup.")
}

// A server that hangs, because it is out of memory or the network is cut, is an outage
// as well. The outage ends when the server answers again.
func TestOutage_OfAHangingServerPasses(t *testing.T) {
	servers.Need(t, "memcached")
	server, err := servers.Memcached("-M")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	s := open(t, openStore(t, "memcached://"+server.Addr))
	ann := s.member("ann")
	ann.write("tea", "Tea", "One cup.", "")

	halt(t, server, syscall.SIGSTOP)
	t.Cleanup(func() { halt(t, server, syscall.SIGCONT) })
	begun := time.Now()
	ann.want(ann.get("/p/tea"), http.StatusServiceUnavailable)
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("want an answer soon, got it after %v", took)
	}
	halt(t, server, syscall.SIGCONT)
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if got := ann.get("/p/tea"); got.status == 200 {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the store is back, and the page is still status %d", got.status)
		}
	}
	ann.want(ann.get("/settings"), 200)
}

func halt(t *testing.T, server *servers.Process, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(server.Pid(), signal); err != nil {
		t.Fatal(err)
	}
}
