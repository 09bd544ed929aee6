package web

import (
	"context"
	"embed"
	"net/http"

	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/templates"
)

// maxForm is the largest form in bytes. It has room for the longest page, escaped.
const maxForm = 256 << 10

//go:embed mark.svg live.js search.js
var files embed.FS

func (s *Site) mux() *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.Handle(route.method+" "+route.path, s.serve(route.handle))
	}
	for pattern, serve := range services {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { serve(s, w, r) })
	}
	assets := http.FileServerFS(files)
	mux.Handle("GET /mark.svg", assets)
	mux.Handle("GET /live.js", assets)
	mux.Handle("GET /search.js", assets)
	mux.Handle("GET /style/"+templates.StyleName(), templates.Style())
	mux.Handle("GET /", s.failing(errNoSuchPage))
	return mux
}

// guarded refuses forms from other sites, and limits the time that a request may take.
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

// A handler reads what it needs, and calls show or redirect of the visit. An error becomes
// a page by the table in outcome.go.
type handler func(*Site, *visit) error

// serve answers requests with handle, after it has read the form.
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

// failing answers requests with err.
func (s *Site) failing(err error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.visit(w, r).fail(err) })
}

// members returns a handler for members alone, which also gets the member's id. Guests log
// in first and come back; their forms are refused.
func members(handle func(s *Site, v *visit, member string) error) handler {
	return func(s *Site, v *visit) error {
		member, err := v.signedIn()
		if err == errSignedOut && v.Method != http.MethodPost {
			return v.redirect(pages.LogInPath(v.URL.RequestURI()), nil)
		}
		if err != nil {
			return err
		}
		return handle(s, v, member)
	}
}
