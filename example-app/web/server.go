package web

import (
	"context"
	"embed"
	"net/http"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/templates"
)

// maxForm is the largest form in bytes. It has room for the longest page, escaped.
const maxForm = 256 << 10

//go:embed mark.svg live.js search.js
var files embed.FS

// New returns a site that shows app. An error reports what is wrong with c.
func New(app *ashiato.Site, c Config) (*Site, error) {
	sessions, err := kvsession.New(app.DB().Store(), kvsession.Options{Keys: c.Keys, Insecure: c.Development, Label: browser})
	if err != nil {
		return nil, err
	}
	s := &Site{app: app, config: c, sessions: sessions, streams: newStreams(), glances: glances{all: make(map[string]*glance)}}
	s.root = s.watched(s.guarded(s.mux()))
	return s, nil
}

// ServeHTTP answers any request.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.root.ServeHTTP(w, r) }

// Close ends the open streams, which would otherwise keep a server from shutting
// down.
func (s *Site) Close() { s.streams.close() }

func (s *Site) mux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.Handle(route.method+" "+route.path, s.serve(route.handle))
	}
	assets := http.FileServerFS(files)
	mux.Handle("GET /mark.svg", assets)
	mux.Handle("GET /live.js", assets)
	mux.Handle("GET /search.js", assets)
	mux.Handle("GET /style/"+templates.StyleName(), templates.Style())
	for pattern, serve := range services {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { serve(s, w, r) })
	}
	mux.Handle("GET /", s.serve((*Site).nothing))
	return mux
}

// guarded refuses forms from other sites, and limits the size of a request and the
// time it may take.
func (s *Site) guarded(next http.Handler) http.Handler {
	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(s.serve((*Site).otherSite))
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
		r.Body = limitedBody{http.MaxBytesReader(w, r.Body, maxForm), r.Body}
		next.ServeHTTP(w, r)
	})
}

func (s *Site) nothing(*visit) (answer, error)   { return answer{}, errNoSuchPage }
func (s *Site) otherSite(*visit) (answer, error) { return answer{}, errOtherSite }
