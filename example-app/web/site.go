package web

import (
	"net/http"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
)

const (
	// patience is how long a visitor waits for the store.
	patience = 5 * time.Second

	// cookieName and wishName are the names of the cookies.
	cookieName = "ashiato"
	wishName   = "ashiato-wish"
)

// Config configures a site.
type Config struct {
	Keys        [][]byte // sign session cookies, new ones with the first key; 32 random bytes each
	Development bool     // pages show their cost, and cookies work without TLS; if false, a proxy in front must speak TLS
	Kind        string   // of the store, shown under the hood: "bolt"
	Tenant      string   // the owner of this part of the store, also shown there; the store already adds its prefix

	// Recovery brings the data back after a loss. If it is nil, nobody does.
	Recovery *inspect.Recovery

	// Token lets its bearer see the metrics from another machine. If it is empty,
	// nobody can.
	Token string
}

// cookie returns the name of a cookie. Behind TLS it begins with __Host-: a browser takes
// such a cookie from this host alone, and over TLS.
func (c Config) cookie(name string) string {
	if c.Development {
		return name
	}
	return "__Host-" + name
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
	glances   glances
	totals    totals
	root      http.Handler
}

// New returns a site that shows app. An error reports what is wrong with c.
func New(app *ashiato.Site, c Config) (*Site, error) {
	sessions, err := kvsession.New(app.DB().Store(), kvsession.Options{Keys: c.Keys, Insecure: c.Development, Label: browser})
	if err != nil {
		return nil, err
	}
	s := &Site{app: app, config: c, sessions: sessions, streams: newStreams(), glances: glances{all: make(map[string]*glance)}}
	s.passwords = kvmodel.NewIntent(app.DB(), "password", s.setPassword)
	s.root = s.watched(s.guarded(s.mux()))
	return s, nil
}

// ServeHTTP answers any request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.root.ServeHTTP(w, r) }

// Close ends the open streams, which would otherwise keep a server from shutting
// down.
func (s *Site) Close() { s.streams.close() }

func (s *Site) now() time.Time { return s.app.DB().Now() }
