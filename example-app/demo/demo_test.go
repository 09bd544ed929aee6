package demo_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/demo"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/timeline"
)

var cheap = guard.HashCost{Passes: 1, Memory: 8, Threads: 1}

func newStore(t *testing.T) kvmodel.Store {
	t.Helper()
	store := memkv.New(memkv.Options{})
	t.Cleanup(func() { store.Close() })
	return store
}

func wantFilled(t *testing.T, store kvmodel.Store, pages, want int) {
	t.Helper()
	made, err := demo.Fill(t.Context(), store, demo.Plan{Pages: pages, Password: "snow on the line", Hash: cheap})
	if made != want || err != nil {
		t.Fatalf("Fill of %d pages: want %d made, got %d, %v", pages, want, made, err)
	}
}

// open returns the site in store.
func open(t *testing.T, store kvmodel.Store) *ashiato.Site {
	t.Helper()
	db, err := kvmodel.Open(store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return ashiato.NewSite(db, ashiato.Options{Hash: cheap})
}

// contents returns the live pages by slug, without what depends on time.
func contents(t *testing.T, s *ashiato.Site) map[string]ashiato.Page {
	t.Helper()
	all := map[string]ashiato.Page{}
	for p, err := range s.Models.Pages.All(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if p.Live() {
			all[p.Slug] = ashiato.Page{Title: p.Title, Body: p.Body, Author: p.Author, Topics: p.Topics, Views: p.Views}
		}
	}
	return all
}

func TestFill_IsTheSameEverywhere(t *testing.T) {
	one, two := newStore(t), newStore(t)
	wantFilled(t, one, 150, 150)
	wantFilled(t, two, 150, 150)
	got, want := contents(t, open(t, two)), contents(t, open(t, one))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pages mismatch (-one +two):\n%s", diff)
	}
	titles := map[string]bool{}
	for _, p := range want {
		titles[p.Title] = true
		if p.Views == 0 {
			t.Errorf("want all pages viewed, got no views of %q", p.Title)
		}
	}
	if len(want) < 140 || len(titles) != len(want) {
		t.Errorf("want 150 pages but for a few in the trash, with different slugs and titles, got %d with %d titles", len(want), len(titles))
	}
}

// What the page under the hood shows: a ring that has gone round, with places whose pages
// have moved or are gone.
func TestFill_MakesARingThatHasGoneRound(t *testing.T) {
	store := newStore(t)
	wantFilled(t, store, 400, 400)
	site := open(t, store)
	rings, err := site.Models.Pages.Newest.Pictures(t.Context(), 400)
	if err != nil {
		t.Fatal(err)
	}
	tree, err := site.Models.Pages.TopViews.Picture(t.Context(), 400)
	if err != nil {
		t.Fatal(err)
	}
	slots := map[timeline.Slot]int{}
	for _, segment := range rings[0].Segments {
		for _, slot := range segment.Slots {
			slots[slot]++
		}
	}
	if slots[timeline.Filled] < 150 || slots[timeline.Stale] < 5 || rings[0].Head < 300 {
		t.Errorf("want a whole lap with stale places, got %v up to %d", slots, rings[0].Head)
	}
	if tree.Root.Below == nil {
		t.Error("want a tree of views with nodes below its root")
	}
}

// Every text keeps the rules of the site, which refuses any other.
func TestFill_MakesOnlyWhatIsMissing(t *testing.T) {
	store := newStore(t)
	wantFilled(t, store, 0, 0)
	wantFilled(t, store, 12, 12)
	wantFilled(t, store, 12, 0)
	wantFilled(t, store, 3, 0)
	wantFilled(t, store, 1500, 1488)
	wantFilled(t, store, 1500, 0)
}

func TestFill_KeepsWhatPeopleDid(t *testing.T) {
	store := newStore(t)
	wantFilled(t, store, 2, 2)
	func() {
		db, err := kvmodel.Open(lasting{store})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close(t.Context())
		s := ashiato.NewSite(db, ashiato.Options{Hash: cheap})
		page, err := s.Models.Pages.BySlug.Find(t.Context(), "sourdough")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Trash(t.Context(), page.Author, page.ID, page.Version); err != nil {
			t.Fatal(err)
		}
		own := ashiato.Draft{Slug: "tide-table", Title: "Mine", Body: "Mine."}
		if _, err := s.Write(t.Context(), page.Author, own); err != nil {
			t.Fatal(err)
		}
	}()
	wantFilled(t, store, 4, 1)
	got := contents(t, open(t, store))
	if got["tide-table"].Title != "Mine" || got["sourdough"].Title != "" || len(got) != 3 {
		t.Errorf("want the member's own tide-table and no sourdough among 3 pages, got %v", got)
	}
}

type lasting struct{ kvmodel.Store }

func (l lasting) Powers() kv.Powers { return kv.PowersOf(l.Store) }
func (lasting) Close() error        { return nil }

func TestFill_ReportsAStoreThatIsDown(t *testing.T) {
	if _, err := demo.Fill(t.Context(), down{}, demo.Plan{Pages: 3}); !errors.Is(err, kvmodel.ErrUnavailable) {
		t.Errorf("want ErrUnavailable, got %v", err)
	}
}

type down struct{}

func (down) Do(_ context.Context, ops []kv.Op) error {
	return kv.Fail(ops, kvmodel.ErrUnavailable)
}
func (down) Close() error { return nil }

func TestFill_GoesOnAfterItWasStopped(t *testing.T) {
	store := newStore(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	made, err := demo.Fill(ctx, store, demo.Plan{Pages: 300, Hash: cheap, Progress: func(there int) {
		if there > 100 {
			stop()
		}
	}})
	if err == nil || made == 0 || made == 300 {
		t.Fatalf("want some of the pages and an error, got %d, %v", made, err)
	}
	wantFilled(t, store, 300, 300-made)
}

func TestFill_GivesEachPageOfTheSiteSomethingToShow(t *testing.T) {
	store, err := boltkv.Open(filepath.Join(t.TempDir(), "app.db"), boltkv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wantFilled(t, store, 120, 120)
	s := open(t, store)
	ctx := t.Context()

	home, err := s.Home(ctx)
	if err != nil || len(home.Newest.Entries) < 20 || len(home.Week) < 5 {
		t.Fatalf("home: want 20 new pages and a ranking, got %+v, %v", home, err)
	}
	if at := home.Newest.Entries[0].Published; time.Since(at) > 24*time.Hour {
		t.Errorf("want the newest page to be of today, got %v", at)
	}
	for _, p := range []ashiato.Order{ashiato.Today, ashiato.ThisWeek, ashiato.AllTime, ashiato.MostLiked} {
		ranks, err := s.Ranking(ctx, p, "", "")
		if err != nil || len(ranks.Rows) < 10 {
			t.Errorf("%s: want a ranking, got %d rows, %v", p, len(ranks.Rows), err)
		}
	}
	heron, err := s.LogIn(ctx, "heron", "snow on the line", "here", nil)
	if err != nil {
		t.Fatal(err)
	}
	visitor, err := s.Visitor(ctx, heron.ID)
	if err != nil || visitor.Unread < 5 {
		t.Errorf("want footprints that heron has not seen, got %+v, %v", visitor, err)
	}
	feed, err := s.Feed(ctx, heron.ID, "")
	if err != nil || len(feed.Entries) < 10 {
		t.Errorf("want a feed, got %d entries, %v", len(feed.Entries), err)
	}
	followers, err := s.FollowersOf(ctx, "walks", "")
	if err != nil || len(followers.Items) != 20 || followers.Next == "" {
		t.Errorf("want two pages of followers, got %d, %q, %v", len(followers.Items), followers.Next, err)
	}
	topics, err := s.Topics(ctx, "")
	if err != nil || len(topics.Places) < 10 {
		t.Errorf("want topics, got %d, %v", len(topics.Places), err)
	}
}
