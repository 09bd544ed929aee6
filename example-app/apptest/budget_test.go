package apptest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// A new process reads more for its first visitor.
var (
	warmBudget = kv.Cost{Trips: 10, Depth: 5, Keys: 300}
	coldBudget = kv.Cost{Trips: 12, Depth: 10, Keys: 300}
)

const maxHTML = 60 << 10

// In this community, every listing has a second page.
func newCrowd(t *testing.T) (*community, *kvtest.Slow) {
	t.Helper()
	store := &kvtest.Slow{Store: openStore(t, "bolt:"+filepath.Join(t.TempDir(), "app.db")+"?durability=periodic")}
	c := settleIn(t, store)
	long := strings.Repeat("long ", ashiato.MaxBody/5-1) + "end"
	c.ann.want(c.ann.fill("/edit/"+c.page, "/edit/"+c.page, "title", strings.Repeat("x", ashiato.MaxTitle), "body", long, "topics", "drinks, words"), 303)
	c.ann.want(c.ann.post("/m/ben/follow"), 303)
	c.ann.want(c.ann.post("/t/words/follow"), 303)
	ben := c.id("ben")
	for i := range 300 {
		slug := fmt.Sprintf("page-%d", i)
		_, err := c.app.Write(t.Context(), ben, ashiato.Draft{Title: slug, Body: "Some words.", Topics: []string{"words"}})
		c.must(err)
		if i < 60 {
			_, err := c.app.Comment(t.Context(), ben, c.page, c.app.NewID(), "A remark of some length, such as people make: "+slug)
			c.must(err)
		}
		if i < 100 {
			c.look(slug, 1+i%3)
		}
	}
	c.settle()
	return c, store
}

func statedCost(t *testing.T, got reply) (c kv.Cost) {
	t.Helper()
	_, err := fmt.Sscanf(got.header.Get("X-Store-Cost"), "%d trips (%d deep), %d ops, %d keys, %d B read", &c.Trips, &c.Depth, &c.Ops, &c.Keys, &c.Read)
	if err != nil {
		t.Fatalf("%s: cost %q: %v", got.path, got.header.Get("X-Store-Cost"), err)
	}
	return c
}

func wantWithin(t *testing.T, what string, most, got kv.Cost) {
	t.Helper()
	t.Logf("%-70s %s", what, got)
	if got.Trips > most.Trips || got.Depth > most.Depth || got.Keys > most.Keys {
		t.Errorf("%s: want at most %d trips, %d in sequence, and %d keys, got %s", what, most.Trips, most.Depth, most.Keys, got)
	}
}

func TestPages_CostFewTripsAndAreSmall(t *testing.T) {
	c, store := newCrowd(t)
	store.Wait(4 * time.Millisecond)
	for who, v := range map[string]*visitor{"ann": c.ann, "guest": c.guest} {
		for _, path := range c.withMore(v, append(c.paths(), "/t/words", "/p/page-7")) {
			got := v.get(path)
			if got.status == 303 {
				continue
			}
			cost := statedCost(t, v.get(path))
			// On a busy machine, trips side by side may be made one after another.
			for n := 0; n < 30 && cost.Depth > warmBudget.Depth; n++ {
				cost.Depth = statedCost(t, v.get(path)).Depth
			}
			wantWithin(t, who+" "+path, warmBudget, cost)
			if len(got.body) > maxHTML {
				t.Errorf("%s for %s: want at most %d bytes, got %d", path, who, maxHTML, len(got.body))
			}
		}
	}
	store.Wait(0)
	c.twoTrips()
	// The pages that visitors begin with, in a process that knows nothing yet.
	for _, path := range []string{"/", "/newest", "/feed", "/ranking?span=today", "/ranking", "/ranking?span=all", "/ranking?span=liked", "/p/tea", "/m/ben", "/topics", "/t/words", "/footprints", "/search?q=page", "/hood", "/hood?list=Page.TopLikes"} {
		for who, v := range map[string]*visitor{"ann": c.ann, "guest": c.guest} {
			cold := v.at(open(t, kept{store}))
			if got := cold.get(path); got.status == 200 {
				wantWithin(t, who+" "+path+", cold", coldBudget, statedCost(t, got))
			}
		}
	}
}

// The home page promises two trips for each list.
func (c *community) twoTrips() {
	c.t.Helper()
	pages := c.app.Models.Pages
	for what, list := range map[string]func(ctx context.Context) error{
		"newest":  func(ctx context.Context) error { _, err := pages.Newest.Page(ctx, "", 20); return err },
		"popular": func(ctx context.Context) error { _, err := pages.TopViewsPerWeek.Table(ctx, "", 10); return err },
	} {
		ctx, meter := kvmodel.Metered(c.t.Context())
		if c.must(list(ctx)); meter.Cost().Trips > 2 {
			c.t.Errorf("%s: want at most two trips, got %s", what, meter.Cost())
		}
	}
}

// kept stays open.
type kept struct{ kv.Store }

func (k kept) Powers() kv.Powers { return kv.PowersOf(k.Store) }
func (kept) Close() error        { return nil }

// withMore adds the next page of each listing.
func (c *community) withMore(v *visitor, paths []string) []string {
	var all []string
	for _, path := range paths {
		all = append(all, path)
		for _, tag := range tags(v.get(path).body) {
			if tag.attrs["rel"] == "next" {
				all = append(all, tag.attrs["href"])
			}
		}
	}
	return all
}
