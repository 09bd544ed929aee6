package web

import (
	"context"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/templates"
)

const (
	// patience is how long a visitor waits for the store.
	patience = 5 * time.Second

	// maxForm is the largest form in bytes. It has room for the longest page, escaped.
	maxForm = 256 << 10
)

//go:embed mark.svg live.js
var files embed.FS

func (s *Site) mux(database http.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	for _, route := range routes {
		mux.Handle(route.method+" "+route.path, s.serve(route.handle))
	}
	mux.HandleFunc("GET /live", s.live)
	mux.HandleFunc("GET /healthz", s.health)
	mux.Handle("GET /inspect/", database)
	for _, name := range []string{"mark.svg", "live.js"} {
		mux.Handle("GET /"+name, http.FileServerFS(files))
	}
	mux.Handle("GET /style/"+templates.StyleName(), templates.Style())
	mux.Handle("GET /", s.failing(errNoSuchPage))
	return mux
}

// watched gives each request an id, logs it, and replies for a handler that panics. Logs contain
// the path but no query, form or cookie, because those are the visitor's own.
func (s *Site) watched(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, begun := hex.EncodeToString(kv.RandomBytes(4)), time.Now()
		defer func() {
			switch panicked := recover(); panicked {
			case nil:
				slog.Debug("request", "request", id, "method", r.Method, "path", r.URL.Path, "took", time.Since(begun))
			case http.ErrAbortHandler:
				panic(panicked)
			default:
				slog.Error("handler panicked", "request", id, "method", r.Method, "path", r.URL.Path, "panic", fmt.Sprint(panicked))
				http.Error(w, "Something went wrong. Request "+id+".", http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), idKey{}, id)))
	})
}

// idKey is the key of the id of the request in its context.
type idKey struct{}

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
			return v.redirect(logInPath(v.URL.RequestURI()), nil)
		}
		if err != nil {
			return err
		}
		return handle(s, v, member)
	}
}

// health replies how the data is: "ok" and "rebuilding" with 200, since the site serves
// what it can, and with 503 "lost" or that the store is not responding.
func (s *Site) health(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	err := s.app.Health(r.Context())
	s.config.Recovery.Notice(err)
	health := s.config.Recovery.Health()
	if errors.Is(err, kvmodel.ErrLost) && health == inspect.Well {
		health = inspect.Lost // which it has not noticed yet
	}
	words := health.String()
	if err != nil && health == inspect.Well {
		words = "the store is not responding"
	}
	if words != inspect.Well.String() && words != inspect.Rebuilding.String() {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	fmt.Fprintln(w, words)
}
