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

// Config is what a site is made of besides what it shows.
type Config struct {
	Keys        [][]byte // sign the cookies of sessions, the first one new ones: 32 random bytes each
	Development bool     // each page tells its cost, and cookies travel without TLS; else there is a proxy in front that speaks TLS
	Kind        string   // of the store, to be named under the hood: "bolt"
	Tenant      string   // whose part of the store it is, to be named there too; the store has its prefix already
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
	counts   *counts
	handler  http.Handler
}
