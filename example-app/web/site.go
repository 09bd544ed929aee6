package web

import (
	"context"
	"embed"
	"net/http"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/templates"
)

const (
	// maxForm is how many bytes a form may send: the longest page, escaped.
	maxForm = 256 << 10

	// patience is how long a visitor waits for the store.
	patience = 5 * time.Second

	// cookieName is the name of the session's cookie.
	cookieName = "ashiato"
)

//go:embed mark.svg live.js
var files embed.FS

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

// New returns the site that shows app. The error says what of c is wrong.
func New(app *ashiato.Site, c Config) (*Site, error) {
	sessions, err := kvsession.New(app.DB().Store(), kvsession.Options{Keys: c.Keys, Insecure: c.Development, Label: browser})
	if err != nil {
		return nil, err
	}
	s := &Site{app: app, config: c, sessions: sessions, streams: newStreams(), counts: newCounts()}
	s.handler = s.watched(s.guarded(s.mux()))
	return s, nil
}

// ServeHTTP answers any request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends the streams that are open, which would keep a server from
// shutting down.
func (s *Site) Close() { s.streams.close() }

func (s *Site) mux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.Handle(route.method+" "+route.path, s.serve(route))
	}
	assets := http.FileServerFS(files)
	mux.Handle("GET /mark.svg", assets)
	mux.Handle("GET /live.js", assets)
	mux.Handle("GET /style/"+templates.StyleName(), templates.Style())
	for pattern, serve := range services {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { serve(s, w, r) })
	}
	mux.Handle("GET /", s.serve(route{handle: (*Site).nothing}))
	return mux
}

// guarded keeps other sites' forms away, and bounds what a request may send and
// how long it may take.
func (s *Site) guarded(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(s.serve(route{handle: (*Site).otherSite}))
	next = guard.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.protect(w.Header())
		if r.URL.Path == "/live" {
			next.ServeHTTP(w, r)
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		next.ServeHTTP(w, r)
	})
}

// protect sets what keeps a browser from doing more with an answer than to show
// it. A page adds to the policy the nonce of its script.
func (s *Site) protect(header http.Header) {
	header.Set("Content-Security-Policy", policy(""))
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "same-origin")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	header.Set("Cache-Control", "no-cache")
	header.Set("Vary", "Cookie")
	if !s.config.Development {
		header.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// policy is what a page may load and do: its own stylesheet and pictures, and
// the script with that nonce.
func policy(nonce string) string {
	script := "'none'"
	if nonce != "" {
		script = "'nonce-" + nonce + "'"
	}
	return "default-src 'none'; script-src " + script + "; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}

func (s *Site) nothing(*visit) (answer, error)   { return answer{}, errNoSuchPage }
func (s *Site) otherSite(*visit) (answer, error) { return answer{}, errOtherSite }
