// Package web is what visitors of the sample app see: its pages, and the forms
// that change something. Each handler is a method of site in a file named for
// its page; outcome.go is the one table from an error to a status.
package web

import (
	"context"
	"embed"
	"net/http"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

const (
	// maxForm is how many bytes a form may send: the longest page, escaped.
	maxForm = 256 << 10

	// patience is how long a visitor waits for the store.
	patience = 5 * time.Second
)

//go:embed style.css mark.svg
var files embed.FS

// site serves the pages of one database.
type site struct {
	members *ashiato.Members
	pages   *ashiato.Pages
	now     func() time.Time
}

// New returns the app's handler on models.
func New(models *ashiato.Models) http.Handler {
	s := &site{members: models.Members, pages: models.Pages, now: time.Now}
	mux := http.NewServeMux()
	for pattern, h := range map[string]handler{
		"GET /{$}":         s.home,
		"GET /find":        s.find,
		"GET /p/{slug}":    s.page,
		"GET /write":       s.writeForm,
		"POST /write":      s.write,
		"GET /edit/{id}":   s.editForm,
		"POST /edit/{id}":  s.edit,
		"POST /trash/{id}": s.trash,
		"GET /members":     s.memberList,
		"GET /m/{handle}":  s.member,
		"GET /join":        s.joinForm,
		"POST /join":       s.join,
		"GET /":            notFound,
	} {
		mux.HandleFunc(pattern, serve(h))
	}
	assets := http.FileServerFS(files)
	mux.Handle("GET /style.css", assets)
	mux.Handle("GET /mark.svg", assets)

	guard := http.NewCrossOriginProtection()
	guard.SetDenyHandler(serve(func(*http.Request) (answer, error) { return answer{}, errOtherSite }))
	return safely(guard.Handler(mux))
}

// safely sets what keeps a browser from doing more with an answer than to show
// it, and bounds what a request may send and how long it may take.
func safely(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy",
			"default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "same-origin")
		header.Set("Cache-Control", "no-cache")
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		r = r.WithContext(ctx)
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		next.ServeHTTP(w, r)
	})
}
