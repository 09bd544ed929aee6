package web

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type store struct {
	kv.Store
	down atomic.Bool
}

func (s *store) Do(ctx context.Context, ops []kv.Op) error {
	if s.down.Load() {
		return kv.Fail(ops, kv.ErrUnavailable)
	}
	return s.Store.Do(ctx, ops)
}

func TestOutage_AsksNobodyToSignInWhoMayBeSignedIn(t *testing.T) {
	s := &store{Store: memkv.New(memkv.Options{})}
	db, err := kvmodel.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close(context.Background()) })
	v := visitIn(t, db)
	v.want(200, "Sign out", "POST", "/signup", "name", "heron", "password", "long enough")
	s.down.Store(true)
	if answer, body := v.ask("GET", "/posts"); answer.StatusCode != 503 || strings.Contains(body, "Sign in") {
		t.Errorf("%s:\n%s", answer.Status, body)
	}
	v.another().want(503, "Sign in", "GET", "/posts")
}
