package conduit_test

import (
	"context"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/examples/conduit"
	"github.com/ringtree/ringtree/examples/conduit/tour"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type redis struct{ kv.Store }

func (redis) Powers() kv.Powers { return kv.Powers{Unless: true, Ordered: true} }

type site struct {
	*conduit.App
	t   *testing.T
	db  *kvmodel.DB
	ids map[string]string
}

func onStores(t *testing.T, f func(t *testing.T, s *site)) {
	t.Run("file", func(t *testing.T) { f(t, newSite(t, memkv.New(memkv.Options{Local: true}))) })
	t.Run("server", func(t *testing.T) { f(t, newSite(t, redis{memkv.New(memkv.Options{})})) })
}

func newSite(t *testing.T, store kv.Store) *site {
	t.Helper()
	clock := new(tour.Clock)
	db := open(t, store, clock)
	s := &site{App: conduit.NewApp(db, conduit.Options{Passes: 1}), t: t, db: db, ids: map[string]string{}}
	for _, name := range []string{"ann", "bob", "cid"} {
		s.register(name)
	}
	return s
}

func (s *site) left() map[string]int {
	s.t.Helper()
	s.flush()
	return map[string]int{
		"comments":  count(s.t, s.Models().Comments.All(s.t.Context())),
		"favorites": count(s.t, s.Models().Favorites.All(s.t.Context())),
	}
}

func count[T any](t *testing.T, all iter.Seq2[T, error]) (n int) {
	t.Helper()
	for _, err := range all {
		must(t, err)
		n++
	}
	return n
}

func open(t *testing.T, store kv.Store, clock *tour.Clock) *kvmodel.DB {
	t.Helper()
	db, err := kvmodel.Open(store, kvmodel.Clock(clock.Now))
	must(t, err)
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	return db
}

func (s *site) register(name string) {
	s.t.Helper()
	u, err := s.Register(s.t.Context(), conduit.NewUser{Username: name, Email: name + "@example.com", Password: name + "'s secret"})
	must(s.t, err)
	s.ids[name] = u.ID
}

func (s *site) publish(name, title string, tags ...string) string {
	s.t.Helper()
	x, err := s.CreateArticle(s.t.Context(), s.ids[name], conduit.NewArticle{Title: title, Description: "About " + title, Body: "All of it.", TagList: tags})
	must(s.t, err)
	return x.Slug
}

func (s *site) flush() {
	s.t.Helper()
	must(s.t, s.db.Flush(s.t.Context()))
}

// lists asserts that a page, which it returns, has these titles, of total.
func (s *site) lists(viewer string, f conduit.Filter, part conduit.Part, total int, want ...string) *conduit.ArticlePage {
	s.t.Helper()
	s.flush()
	p, err := s.List(s.t.Context(), s.ids[viewer], f, part)
	must(s.t, err)
	hasTitles(s.t, p, total, want...)
	return p
}

func hasTitles(t *testing.T, p *conduit.ArticlePage, total int, want ...string) {
	t.Helper()
	var got []string
	for _, x := range p.Articles {
		got = append(got, x.Title)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || p.ArticlesCount != total {
		t.Errorf("%d in all, want %d; mismatch (-want +got):\n%s", p.ArticlesCount, total, diff)
	}
}

func done[T any](_ T, err error) error { return err }

var must = proof.Must

func TestTrips_AChangeIsOneCommitOfTheFile(t *testing.T) {
	s := storeAt(t, onBolt(t))
	eachCall(t, tour.Committing{Store: s}, func(t *testing.T, call tour.Call, c tour.Cost) {
		want := 1
		if call.Reads {
			want = 0
		}
		most := call.New
		if most == 0 {
			most = call.Most
		}
		if c.Commits != want || c.New.Trips > most {
			t.Errorf("%d commits and %d trips; want %d and at most %d", c.Commits, c.New.Trips, want, most)
		}
	})
}

func eachCall(t *testing.T, s kv.Store, f func(t *testing.T, call tour.Call, c tour.Cost)) {
	t.Helper()
	clock := new(tour.Clock)
	db := open(t, s, clock)
	calls, err := tour.Calls(t.Context(), conduit.NewApp(db, conduit.Options{Passes: 1}))
	must(t, err)
	for _, call := range calls {
		c, err := tour.Measure(t.Context(), call, db, clock)
		must(t, err)
		t.Run(call.Endpoint+" "+call.With, func(t *testing.T) { f(t, call, c) })
	}
}
