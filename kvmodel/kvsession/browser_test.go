package kvsession_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/sessions"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

const cookieName = "app"

var testKey = bytes.Repeat([]byte("k"), 32)

func open(t testing.TB, store kv.Store, change ...func(*kvsession.Options)) *kvsession.Store {
	t.Helper()
	options := kvsession.Options{Keys: [][]byte{testKey}}
	for _, f := range change {
		f(&options)
	}
	s, err := kvsession.New(store, options)
	must(t, err)
	return s
}

func newMem() *memkv.Store { return memkv.New(memkv.Options{}) }

type browser struct{ cookie *http.Cookie }

type visit struct {
	*sessions.Session
	r *http.Request
	w *httptest.ResponseRecorder
	s *kvsession.Store
	b *browser
}

func (b *browser) open(ctx context.Context, s *kvsession.Store) (*visit, error) {
	v := &visit{r: httptest.NewRequest("GET", "/", nil).WithContext(ctx), w: httptest.NewRecorder(), s: s, b: b}
	if b.cookie != nil {
		v.r.AddCookie(b.cookie)
	}
	var err error
	v.Session, err = s.Get(v.r, cookieName)
	return v, err
}

func (b *browser) mustOpen(t testing.TB, s *kvsession.Store) *visit {
	t.Helper()
	v, err := b.open(t.Context(), s)
	must(t, err)
	return v
}

func (v *visit) received(err error) error {
	for _, cookie := range v.cookies() {
		v.b.cookie = cookie
		if cookie.MaxAge < 0 {
			v.b.cookie = nil
		}
	}
	return err
}

func (v *visit) save() error              { return v.received(v.Save(v.r, v.w)) }
func (v *visit) signIn(user string) error { return v.received(v.s.SignIn(v.r, v.w, v.Session, user)) }
func (v *visit) signInIf(g kvsession.Generation) error {
	return v.received(v.s.SignInIf(v.r, v.w, v.Session, g))
}
func (v *visit) regenerate() error { return v.received(v.s.Regenerate(v.r, v.w, v.Session)) }
func (v *visit) signOut() error    { return v.received(v.s.SignOut(v.r, v.w, v.Session)) }
func (v *visit) user() string      { return v.s.User(v.Session) }
func (v *visit) sentCookie() bool  { return len(v.cookies()) > 0 }

func (v *visit) cookies() []*http.Cookie {
	return (&http.Response{Header: v.w.Header()}).Cookies()
}

func (b *browser) set(t testing.TB, s *kvsession.Store, key string, value any) {
	t.Helper()
	v := b.mustOpen(t, s)
	v.Values[key] = value
	must(t, v.save())
}

func (b *browser) values(t testing.TB, s *kvsession.Store) map[any]any {
	t.Helper()
	return b.mustOpen(t, s).Values
}

func signedIn(t testing.TB, s *kvsession.Store, user string) *browser {
	t.Helper()
	b := new(browser)
	must(t, b.mustOpen(t, s).signIn(user))
	return b
}

func (b *browser) copied() *browser { c := *b; return &c }

var must = proof.Must

func wantErr(t testing.TB, want, got error) {
	t.Helper()
	proof.Is(t, got, want)
}

type breaker struct {
	kv.Store
	mu   sync.Mutex
	down error
}

func (b *breaker) set(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = err
}

func (b *breaker) Do(ctx context.Context, ops []kv.Op) error {
	b.mu.Lock()
	down := b.down
	b.mu.Unlock()
	if down == nil {
		return b.Store.Do(ctx, ops)
	}
	kv.Check(ops, kv.PowersOf(b.Store))
	return kv.Fail(ops, down)
}

// before calls happen once, before the first op of a kind.
type before struct {
	kv.Store
	kind   kv.Kind
	happen func()
}

func (b *before) Do(ctx context.Context, ops []kv.Op) error {
	if happen := b.happen; happen != nil && ops[0].Kind == b.kind {
		b.happen = nil
		happen()
	}
	return b.Store.Do(ctx, ops)
}

const day = 24 * time.Hour
