package web

import (
	"net/http"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
)

const (
	// patience is how long a visitor waits for the store.
	patience = 5 * time.Second

	// cookieName is the name of the session's cookie.
	cookieName = "ashiato"
)

// Config configures a site.
type Config struct {
	Keys        [][]byte // sign session cookies, new ones with the first key; 32 random bytes each
	Development bool     // pages show their cost, and cookies work without TLS; if false, a proxy in front must speak TLS
	Kind        string   // of the store, shown under the hood: "bolt"
	Tenant      string   // the owner of this part of the store, also shown there; the store already adds its prefix
}

// Site serves the pages of one ashiato.Site:
//
//	site, err := web.New(app, web.Config{...})
//	server := &http.Server{Handler: site}
//	server.RegisterOnShutdown(site.Close)
type Site struct {
	app      *ashiato.Site
	config   Config
	sessions *kvsession.Store
	streams  *streams
	totals   totals
	root     http.Handler
}
