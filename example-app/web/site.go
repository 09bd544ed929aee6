// Package web serves the pages of the sample app. routes.go lists every page and form. Each page
// has a file for its handlers, methods of Site that call package ashiato, and one for its markup,
// which shows the result with the components of package templates. To write one, read profile.go,
// which shows a page, and then page.go, which takes a form. outcome.go maps errors to statuses and
// messages.
//
// # Changes by a GET
//
// A GET changes nothing, with two exceptions: viewing a page counts a view, and viewing a profile
// leaves a footprint. Another site cannot cause either in a visitor's name. Only a document that
// the visitor navigated to counts, not an image, a frame or a prefetch. And the cookie is
// SameSite=Lax, so requests for resources embedded by another site do not carry it.
package web

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/templates"
)

//go:generate go tool templ generate -include-version=false -log-level=error

// Config is how a site is run.
type Config struct {
	Keys        [][]byte // sign session cookies, new ones with the first key; 32 random bytes each
	Development bool     // pages show their cost, and cookies work without TLS; if false, a proxy in front must speak TLS
	Kind        string   // of the store, shown under the hood: "bolt"
	Tenant      string   // the owner of this part of the store, also shown there; the store already adds its prefix
	Admin       string   // the id of the member with access to the database pages; "" is nobody
	Command     string   // opens the database on a terminal

	Kill     func(ctx context.Context) (topic string, err error) // kills a writer, and returns its topic; nil: no button
	Recovery *inspect.Recovery                                   // restores the data after a loss; nil: nobody does
}

// Browsers accept a cookie that begins with __Host- from this host alone, and over TLS.
func (c Config) cookie() string {
	if c.Development {
		return "ashiato"
	}
	return "__Host-ashiato"
}

// Site serves the pages of one ashiato.Site:
//
//	site, err := web.New(app, web.Config{...})
//	server := &http.Server{Handler: site}
//	server.RegisterOnShutdown(site.Close)
type Site struct {
	app       *ashiato.Site
	config    Config
	sessions  *kvsession.Store
	passwords *kvmodel.Intent[passwordChange]
	streams   guard.Room
	open      context.Context // ends with the site, and with it all streams
	end       context.CancelFunc
	database  *inspect.Inspector
	root      http.Handler
}

const (
	patience = 5 * time.Second // of a visitor, for the store
	maxForm  = 256 << 10       // bytes; the longest page has room, escaped
)

//go:embed mark.svg live.js
var files embed.FS

// New returns a site for app, or an error if c is invalid.
func New(app *ashiato.Site, c Config) (*Site, error) {
	sessions, err := kvsession.New(app.DB().Store(), kvsession.Options{Keys: c.Keys, Insecure: c.Development})
	if err != nil {
		return nil, err
	}
	s := &Site{app: app, config: c, sessions: sessions, streams: guard.Room{Most: 64, MostFrom: 16}, database: inspect.New(app.DB())}
	s.open, s.end = context.WithCancel(context.Background())
	s.passwords = kvmodel.NewIntent(app.DB(), "password", s.setPassword)
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.Handle(route.method+" "+route.path, s.serve(route.handle))
	}
	mux.HandleFunc("GET /live", s.live)
	mux.HandleFunc("GET /healthz", s.health)
	mux.Handle("GET /mark.svg", http.FileServerFS(files))
	mux.Handle("GET /live.js", http.FileServerFS(files))
	mux.Handle("GET /style/"+templates.StyleName(), templates.Style())
	mux.Handle("GET /", s.failing(errNoSuchPage))
	s.root = s.guarded(mux)
	pages, err := inspect.Handler(s.database, inspect.HandlerOptions{Guard: s.isAdmin, Base: "/inspect", Command: c.Command, Editable: true})
	if err != nil {
		return nil, err
	}
	mux.Handle("GET /inspect/", pages)
	mux.Handle("POST /inspect/", pages)
	return s, nil
}

func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.root.ServeHTTP(w, r) }

// Close ends the open streams, which would otherwise keep a server from shutting down.
func (s *Site) Close() { s.end() }

func (s *Site) now() time.Time { return s.app.DB().Now() }

func (s *Site) isAdmin(r *http.Request) error {
	session, err := s.sessions.New(r, s.config.cookie())
	if err == nil && (s.config.Admin == "" || s.sessions.User(session) != s.config.Admin) {
		err = errors.New("not the admin")
	}
	return err
}

func (s *Site) guarded(next http.Handler) http.Handler {
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(s.failing(errOtherSite))
	next = origin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		guard.Headers(w.Header(), !s.config.Development)
		if r.URL.Path == "/live" {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// A handler reads the data, and calls show or redirect of the visit. outcome.go makes a page of an
// error.
type handler func(*Site, *visit) error

func (s *Site) serve(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := s.visit(w, r)
		_, err := templates.ReadForm(w, v.Request, maxForm)
		if err == nil {
			err = handle(s, v)
		}
		if err != nil {
			v.fail(err)
		}
	})
}

func (s *Site) failing(err error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.visit(w, r).fail(err) })
}

// Guests log in first and come back; their forms are refused.
func members(handle func(s *Site, v *visit, member string) error) handler {
	return func(s *Site, v *visit) error {
		member, err := v.signedIn()
		if err == errSignedOut && v.Method != http.MethodPost {
			return v.redirect(logInPath(v.URL.RequestURI()), nil)
		}
		if err != nil {
			return err
		}
		return handle(s, v, member)
	}
}

// Most pages are served during a rebuild, so that has status 200. A lost or silent store has 503.
func (s *Site) health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	err := s.app.Health(r.Context())
	s.config.Recovery.Notice(err)
	health := s.config.Recovery.Health()
	words, status := health.String(), http.StatusOK
	switch {
	case errors.Is(err, kvmodel.ErrLost) || health == inspect.Lost:
		words, status = inspect.Lost.String(), http.StatusServiceUnavailable
	case err != nil:
		words, status = "the store is not responding", http.StatusServiceUnavailable
	}
	w.WriteHeader(status)
	fmt.Fprintln(w, words)
}
