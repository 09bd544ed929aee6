package apptest

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvfault"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// A mute store does not answer the writes that it performs.
type frail struct {
	kv.Store
	down, lost, mute atomic.Bool
}

func (f *frail) Do(ctx context.Context, ops []kv.Op) error {
	if f.down.Load() {
		return kv.Fail(ops, kvmodel.ErrUnavailable)
	}
	if f.lost.Load() {
		return kv.Fail(ops, kvmodel.ErrLost)
	}
	err := f.Store.Do(ctx, ops)
	if !f.mute.Load() {
		return err
	}
	for i := range ops {
		if ops[i].Kind != kv.Get {
			ops[i].Result = kv.Result{Err: kvmodel.ErrUnclear}
		}
	}
	return kv.Unanswered(ops)
}

// Nobody is logged out or shown data of another, and nothing needs a restart.
func TestOutage_IsReportedAndPasses(t *testing.T) {
	store := &frail{Store: memkv.New(memkv.Options{})}
	c := settleIn(t, store)
	requests, before := c.requests(), c.state()

	store.down.Store(true)
	c.ann.want(c.ann.get("/healthz"), http.StatusServiceUnavailable)
	for _, path := range c.paths() {
		got := c.ann.get(path)
		if slices.Contains([]string{"/write", "/signup", "/login", "/nowhere"}, path) {
			continue // Such a page uses the store only to find out who the visitor is.
		}
		c.ann.want(got, http.StatusServiceUnavailable, "The store is not responding")
		if strings.Contains(shown(got.body), "One cup.") || got.header.Get("Retry-After") == "" {
			t.Errorf("%s while the store is down: want a Retry-After and nothing of ann's, got %v:\n%s", path, got.header, shown(got.body))
		}
	}
	for _, r := range requests {
		c.ann.want(c.ann.post(r.path, r.fields...), http.StatusServiceUnavailable)
	}
	draft := []string{"id", newID(7), "title", "Typed by hand", "body", "And long."}
	if got := c.ann.post("/write", draft...); !strings.Contains(got.body, "And long.") {
		t.Errorf("ann's text is lost:\n%s", shown(got.body))
	}
	store.down.Store(false)
	c.unchanged(before, "an outage")

	store.mute.Store(true)
	if got := c.ann.post("/write", draft...); got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "And long.") {
		t.Errorf("a write that is not answered: got %d:\n%s", got.status, shown(got.body))
	}
	store.mute.Store(false)
	c.ann.want(c.ann.post("/write", draft...), http.StatusSeeOther)
	c.settle()
	proof.Equal(t, strings.Count(c.guest.get("/newest").body, ">Typed by hand<"), 1, "one page of a form that was sent again")
}

func TestPages_ShowTheRestWhileAPartIsBeingRebuilt(t *testing.T) {
	store := memkv.New(memkv.Options{})
	c := settleIn(t, kept{store})
	c.settle()
	for _, model := range []string{"Page", "Comment"} {
		c.must(store.Do(t.Context(), []kv.Op{kv.OpDelete("built:" + model)}))
	}
	fresh := c.ann.at(open(t, bare{store}))
	for _, path := range []string{"/", "/hood"} {
		fresh.want(fresh.get(path), 200, "This list is being rebuilt.")
	}
	for _, path := range []string{"/newest", "/ranking", "/m/ann", "/t/drinks"} {
		fresh.want(fresh.get(path), http.StatusServiceUnavailable, "This list is being rebuilt")
	}
}

// bare does not build indexes by itself.
type bare struct{ kv.Store }

func (b bare) Powers() kv.Powers { return kv.Powers{Unless: true, Walk: kv.PowersOf(b.Store).Walk} }
func (bare) Close() error        { return nil }

func TestLoss_NamesWhatAnOperatorHasToDo(t *testing.T) {
	store := &frail{Store: memkv.New(memkv.Options{})}
	c := settleIn(t, store)
	store.lost.Store(true)
	c.ann.want(c.ann.get("/p/tea"), http.StatusServiceUnavailable, "The store has lost its data", "example-app db recover")
	if got := c.ann.get("/healthz"); got.status != http.StatusServiceUnavailable || !strings.HasPrefix(got.body, "lost\n") {
		t.Errorf("want lost, got %d %s", got.status, got.body)
	}
}

func TestKill_LeavesWhatTheHoodShowsAndNoPage(t *testing.T) {
	for what, test := range map[string]struct {
		store kv.Store
		stale string
	}{
		"single keys":  {kvfault.SingleKeys(memkv.New(memkv.Options{})), "1 stale"},
		"transactions": {openStore(t, "bolt:"+filepath.Join(t.TempDir(), "app.db")), "0 stale"},
	} {
		proof.Done(t)(demo.Fill(t.Context(), test.store, demo.Plan{Pages: 20}))
		guest := open(t, test.store).visitor()
		hood := guest.post("/hood/kill").header.Get("Location")
		guest.want(guest.get(hood), 200, "20 filled", test.stale, "A writer was killed")
		for _, path := range []string{"/newest", "/p/a-page-that-nobody-sees", "/t/walks", "/search?q=a+page"} {
			if body := guest.get(path).body; strings.Contains(body, "A page that nobody sees") {
				t.Errorf("%s, %s: want no trace of the page, got:\n%s", what, path, shown(body))
			}
		}
	}
}
