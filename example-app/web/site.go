package web

import (
	"errors"
	"net/http"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
)

// Config configures a site.
type Config struct {
	Keys        [][]byte // sign session cookies, new ones with the first key; 32 random bytes each
	Development bool     // pages show their cost, and cookies work without TLS; if false, a proxy in front must speak TLS
	Kind        string   // of the store, shown under the hood: "bolt"
	Tenant      string   // the owner of this part of the store, also shown there; the store already adds its prefix
	Admin       string   // the id of the member who may look into the database; "" is nobody
	Command     string   // that looks into it on a terminal

	// Recovery brings the data back after a loss. If it is nil, nobody does.
	Recovery *inspect.Recovery
}

// cookie returns the name of the cookie. Behind TLS it begins with __Host-: a browser takes
// such a cookie from this host alone, and over TLS.
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
	streams   *streams
	database  *inspect.Inspector
	root      http.Handler
}

// New returns a site that shows app. An error reports what is wrong with c.
func New(app *ashiato.Site, c Config) (*Site, error) {
	sessions, err := kvsession.New(app.DB().Store(), kvsession.Options{Keys: c.Keys, Insecure: c.Development})
	if err != nil {
		return nil, err
	}
	s := &Site{app: app, config: c, sessions: sessions, streams: newStreams(), database: inspect.New(app.DB())}
	s.passwords = kvmodel.NewIntent(app.DB(), "password", s.setPassword)
	pages, err := inspect.Handler(s.database, inspect.HandlerOptions{Guard: s.isAdmin, Base: "/inspect", Command: c.Command, Editable: true})
	if err != nil {
		return nil, err
	}
	s.root = s.watched(s.guarded(s.mux(pages)))
	return s, nil
}

// isAdmin refuses requests of anyone but the member who may look into the database.
func (s *Site) isAdmin(r *http.Request) error {
	session, err := s.sessions.New(r, s.config.cookie())
	if err == nil && (s.config.Admin == "" || s.sessions.User(session) != s.config.Admin) {
		err = errors.New("not the admin")
	}
	return err
}

// ServeHTTP answers any request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.root.ServeHTTP(w, r) }

// Close ends the open streams, which would otherwise keep a server from shutting
// down.
func (s *Site) Close() { s.streams.end() }

func (s *Site) now() time.Time { return s.app.DB().Now() }
