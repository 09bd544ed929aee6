package forum_test

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/examples/forum"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

// clock advances by a millisecond each time it is read, so that no two things have the same time.
type clock struct{ ms atomic.Int64 }

func (c *clock) Now() time.Time { return time.UnixMilli(1_800_000_000_000 + c.ms.Add(1)) }

func (c *clock) pass(d time.Duration) { c.ms.Add(d.Milliseconds()) }

// site is a forum of a test.
type site struct {
	*forum.Forum
	t     *testing.T
	db    *kvmodel.DB
	clock *clock
}

// onEngines calls f with a new site on each engine.
func onEngines(t *testing.T, f func(s *site)) {
	for name, open := range map[string]func(*testing.T, *clock) kvmodel.Store{
		"memory":    onMemory,
		"file":      onFile,
		"memcached": onMemcached,
		"redis":     onRedis,
	} {
		t.Run(name, func(t *testing.T) {
			c := new(clock)
			f(newSite(t, open(t, c), c))
		})
	}
}

func newSite(t *testing.T, store kvmodel.Store, c *clock) *site {
	t.Helper()
	db, err := kvmodel.Open(store, kvmodel.Clock(c.Now))
	must(t, err)
	t.Cleanup(func() { _ = db.Close(context.WithoutCancel(t.Context())) })
	return &site{forum.Open(db), t, db, c}
}

func onMemory(_ *testing.T, c *clock) kvmodel.Store { return memkv.New(memkv.Options{Now: c.Now}) }

func onFile(t *testing.T, c *clock) kvmodel.Store {
	s, err := boltkv.Open(filepath.Join(t.TempDir(), "forum.db"), boltkv.Options{Durability: boltkv.Unsynced, Now: c.Now})
	must(t, err)
	return s
}

func onMemcached(t *testing.T, _ *clock) kvmodel.Store {
	servers.Need(t, "memcached")
	p, err := servers.Memcached()
	must(t, err)
	t.Cleanup(p.Stop)
	s, err := memcachekv.OpenVolatile([]string{p.Addr}, memcachekv.Options{})
	must(t, err)
	return s
}

func onRedis(t *testing.T, _ *clock) kvmodel.Store {
	servers.Need(t, "redis-server")
	p, err := servers.Redis()
	must(t, err)
	t.Cleanup(p.Stop)
	s, err := rediskv.Open(t.Context(), rediskv.Options{Addrs: []string{p.Addr}})
	must(t, err)
	return s
}

// serverLike can do what Redis can.
type serverLike struct{ kvmodel.Store }

func (serverLike) Powers() kv.Powers { return kv.Powers{Unless: true, Ordered: true} }

// flush waits for the work after replies.
func (s *site) flush() {
	s.t.Helper()
	must(s.t, s.db.Flush(s.t.Context()))
}

func (s *site) join(names ...string) {
	s.t.Helper()
	for _, name := range names {
		must(s.t, s.Join(s.t.Context(), name, "About "+name))
	}
}

// submit returns a new story.
func (s *site) submit(name, title string, tags ...string) *forum.Story {
	s.t.Helper()
	s.clock.pass(time.Second)
	story, err := s.Submit(s.t.Context(), name, forum.NewStory{Title: title, Text: "All about it.", Tags: tags})
	must(s.t, err)
	return story
}

// comment returns a new comment.
func (s *site) comment(name, story, parent, text string) *forum.Comment {
	s.t.Helper()
	s.clock.pass(time.Second)
	c, err := s.Comment(s.t.Context(), name, story, parent, text)
	must(s.t, err)
	return c
}

// look returns a page once all changes are on it.
func look(s *site, page func(ctx context.Context) (*forum.Page, error)) *forum.Page {
	s.t.Helper()
	s.flush()
	p, err := page(s.t.Context())
	must(s.t, err)
	return p
}

func (s *site) front(name string) *forum.Page {
	s.t.Helper()
	return look(s, func(ctx context.Context) (*forum.Page, error) { return s.Front(ctx, name, "") })
}

func (s *site) story(name, id string) *forum.Page {
	s.t.Helper()
	return look(s, func(ctx context.Context) (*forum.Page, error) { return s.Story(ctx, name, id) })
}

func (s *site) user(name, of string) *forum.Page {
	s.t.Helper()
	return look(s, func(ctx context.Context) (*forum.Page, error) { return s.User(ctx, name, of) })
}

func titles(p *forum.Page) (all []string) {
	for _, s := range p.Stories {
		all = append(all, s.Title)
	}
	return all
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s mismatch (-want +got):\n%.3000s", what, diff)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
