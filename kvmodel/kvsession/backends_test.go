package kvsession_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
	"github.com/ringtree/ringtree/kvmodel/rediskv"
)

func TestStore_WorksOnEveryStore(t *testing.T) {
	for name, backend := range map[string]func(testing.TB) kv.Store{
		"memkv":      func(testing.TB) kv.Store { return newMem() },
		"boltkv":     onBolt,
		"memcachekv": onMemcached,
		"rediskv":    onRedis,
	} {
		t.Run(name, func(t *testing.T) {
			store := backend(t)
			t.Cleanup(func() { store.Close() })
			live(t, open(t, store, func(o *kvsession.Options) { o.PerUser = 4 }))
		})
	}
}

func onBolt(t testing.TB) kv.Store {
	store, err := boltkv.Open(filepath.Join(t.TempDir(), "sessions.db"), boltkv.Options{})
	must(t, err)
	return store
}

func onMemcached(t testing.TB) kv.Store {
	servers.Need(t, "memcached")
	p, err := servers.Memcached()
	must(t, err)
	t.Cleanup(p.Stop)
	store, err := memcachekv.OpenVolatile([]string{p.Addr}, memcachekv.Options{})
	must(t, err)
	return store
}

func onRedis(t testing.TB) kv.Store {
	servers.Need(t, "redis-server")
	p, err := servers.Redis()
	must(t, err)
	t.Cleanup(p.Stop)
	store, err := rediskv.Open(t.Context(), rediskv.Options{Addrs: []string{p.Addr}})
	must(t, err)
	return store
}

func live(t *testing.T, s *kvsession.Store) {
	b := new(browser)
	b.set(t, s, "cart", []any{"book", 2})
	before := b.copied()
	must(t, b.mustOpen(t, s).signIn("jo"))

	one, two, late := b.mustOpen(t, s), b.mustOpen(t, s), b.mustOpen(t, s)
	one.Values["one"] = 1
	must(t, one.save())
	two.Values["two"] = int64(2)
	must(t, two.save())
	want := map[any]any{"cart": []any{"book", 2}, "one": 1, "two": int64(2)}
	v := b.mustOpen(t, s)
	if diff := cmp.Diff(want, v.Values); diff != "" || v.user() != "jo" {
		t.Errorf("user %q, values mismatch (-want +got):\n%s", v.user(), diff)
	}
	if v := before.mustOpen(t, s); !v.IsNew {
		t.Error("the cookie from before signing in is still good")
	}

	for range 9 {
		signedIn(t, s, "jo")
	}
	if infos, err := s.List(t.Context(), "jo"); err != nil || len(infos) < 4 || len(infos) > 8 {
		t.Errorf("want 4 to 8 sessions, got %d, %v", len(infos), err)
	}
	last := signedIn(t, s, "jo")
	must(t, s.RevokeAll(t.Context(), "jo", last.mustOpen(t, s).ID))
	wantListed(t, s, "jo", 1)
	late.Values["late"] = true
	wantErr(t, kvsession.ErrEnded, late.save())
	must(t, last.mustOpen(t, s).signOut())
	wantListed(t, s, "jo", 0)
}
