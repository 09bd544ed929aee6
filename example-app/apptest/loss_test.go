package apptest

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/recovery"
	"github.com/ringtree/ringtree/example-app/web"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel"
)

// openRecovering returns a site on two memcached servers, with its recovery. lose loses what
// is on one of them.
func openRecovering(t *testing.T, accepts bool) (s *site, lose func()) {
	t.Helper()
	servers.Need(t, "memcached")
	var all []*servers.Process
	var addrs []string
	for range 2 {
		server, err := servers.Memcached("-M")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(server.Stop)
		all, addrs = append(all, server), append(addrs, server.Addr)
	}
	db, err := kvmodel.Open(openStore(t, "memcached://"+strings.Join(addrs, ",")))
	if err != nil {
		t.Fatal(err)
	}
	app := ashiato.NewSite(db, ashiato.Options{Hash: cheap})
	rec := recovery.New(db, accepts)
	handler, err := web.New(app, web.Config{Keys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Development: true, Recovery: rec})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { rec.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		handler.Close()
		// What was lost cannot be finished.
		_ = db.Close(context.WithoutCancel(ctx))
	})
	return &site{t: t, url: serveOnce(t, handler), app: app}, func() {
		all[0].Kill()
		if err := all[0].Start(); err != nil {
			t.Fatal(err)
		}
	}
}

// until gets path until good says that the answer is.
func (v *visitor) until(path string, good func(reply) bool) {
	v.t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(50 * time.Millisecond) {
		got := v.get(path)
		if good(got) {
			return
		}
		if time.Now().After(end) {
			v.t.Fatalf("%s is still status %d, and shows:\n%s", path, got.status, shown(got.body))
		}
	}
}

// isOK reports whether an answer is a page.
func isOK(got reply) bool { return got.status == http.StatusOK }

// With all there is to prove, it waits for the rebuild as well, which takes a minute or two.
func TestMatrix_TheSiteAcceptsALossAndGoesOn(t *testing.T) {
	for whole := range proof.Part(t, []bool{false}, []bool{true}) {
		s, lose := openRecovering(t, true)
		ann, guest := s.member("ann"), s.visitor()
		for i := range 9 {
			s.addPage("ann", i)
		}
		lose()
		begun := time.Now()
		guest.until("/healthz", func(got reply) bool {
			guest.get("/") // Nobody knows of the loss until someone asks for what was lost.
			return got.body != "ok\n" && got.status == http.StatusOK
		})
		guest.until("/", isOK)
		ann.until("/", isOK)
		guest.until("/ranking", isOK)
		t.Logf("back after %v", time.Since(begun))
		if !whole {
			continue
		}
		guest.until("/healthz", func(got reply) bool { return got.body == "ok\n" })
		t.Logf("whole after %v", time.Since(begun))
		if text := shown(guest.get("/").body); strings.Contains(text, "rebuilt") || !strings.Contains(text, "Page ") {
			t.Errorf("want the pages that are left on the home page, got:\n%s", text)
		}
	}
}

func TestLoss_TheSiteSaysWhatAnOperatorHasToDo(t *testing.T) {
	s, lose := openRecovering(t, false)
	s.member("ann")
	lose()
	guest := s.visitor()
	guest.until("/", func(got reply) bool {
		text := shown(got.body)
		return got.status == http.StatusServiceUnavailable && strings.Contains(text, "example-app db accept") && strings.Contains(text, "example-app db rescue")
	})
	guest.until("/healthz", func(got reply) bool {
		return got.status == http.StatusServiceUnavailable && strings.HasPrefix(got.body, "lost\nservers that have lost their memory: 1\n")
	})
}
