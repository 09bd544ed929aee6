package costs

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"

	"github.com/gorilla/sessions"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
)

type browser struct {
	store   *kvsession.Store
	cookies []*http.Cookie
	session *sessions.Session
}

func newBrowser(s kv.Store) (*browser, error) {
	store, err := kvsession.New(kv.Count(s), kvsession.Options{Keys: [][]byte{make([]byte, 32)}})
	return &browser{store: store}, err
}

func (b *browser) request(ctx context.Context) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil).WithContext(ctx)
	for _, c := range b.cookies {
		r.AddCookie(c)
	}
	return r
}

func (b *browser) get(ctx context.Context) (err error) {
	b.session, err = b.store.Get(b.request(ctx), "app")
	return err
}

// answers makes b answer its request by f, and keeps the cookies.
func (b *browser) answers(ctx context.Context, f func(*http.Request, http.ResponseWriter) error) error {
	w := httptest.NewRecorder()
	err := f(b.request(ctx), w)
	if set := w.Result().Cookies(); len(set) > 0 {
		b.cookies = set
	}
	return err
}

func (b *browser) save(ctx context.Context) error {
	return b.answers(ctx, func(r *http.Request, w http.ResponseWriter) error { return b.session.Save(r, w) })
}

func (b *browser) signIn(ctx context.Context) error {
	return b.answers(ctx, func(r *http.Request, w http.ResponseWriter) error { return b.store.SignIn(r, w, b.session, "ann") })
}

// signInIf signs in as after checking a password.
func (b *browser) signInIf(ctx context.Context) error {
	g, err := b.store.Generation(ctx, "ann")
	if err != nil {
		return err
	}
	return b.answers(ctx, func(r *http.Request, w http.ResponseWriter) error { return b.store.SignInIf(r, w, b.session, g) })
}

func begun(w *world) error { return w.browser.get(w.ctx) }

var withSessions = section{
	title: "Sessions",
	text:  "Package kvsession, on a bare store.",
	fill:  func(w *world) (err error) { w.browser, err = newBrowser(w.store); return err },
	rows: []row{
		{name: "Get without a cookie", do: func(w *world) error { return w.browser.get(w.ctx) }},
		{name: "SignIn", before: begun, do: func(w *world) error { return w.browser.signIn(w.ctx) }},
		{name: "Get with a cookie", do: func(w *world) error { return w.browser.get(w.ctx) }},
		{name: "Save of what has not changed", before: begun, do: func(w *world) error { return w.browser.save(w.ctx) }},
		{
			name: "Save of a change", before: begun,
			do: func(w *world) error {
				w.browser.session.Values["theme"] = "dark"
				return w.browser.save(w.ctx)
			},
		},
		{name: "List of a user's sessions", do: func(w *world) error { return last(w.browser.store.List(w.ctx, "ann")) }},
		{
			name: "SignOut", before: begun,
			do: func(w *world) error {
				return w.browser.answers(w.ctx, func(r *http.Request, rw http.ResponseWriter) error {
					return w.browser.store.SignOut(r, rw, w.browser.session)
				})
			},
		},
		{
			name: "RevokeAll of one session", before: func(w *world) error { w.browser.cookies = nil; return errors.Join(begun(w), w.browser.signIn(w.ctx)) },
			do: func(w *world) error { return w.browser.store.RevokeAll(w.ctx, "ann") },
		},
		{
			name: "Generation and SignInIf", before: func(w *world) error { w.browser.cookies = nil; return begun(w) },
			do: func(w *world) error { return w.browser.signInIf(w.ctx) },
		},
	},
}
