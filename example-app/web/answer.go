package web

import (
	"bytes"
	"embed"
	"html/template"
	"log/slog"
	"net/http"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// A handler finds out what to answer. An error becomes a page by the table in
// outcome.go.
type handler func(r *http.Request) (answer, error)

// answer is a page, or the path of one to go to.
type answer struct {
	to     string // if not empty, all else is
	status int    // 0 is 200
	page   string // the name of its template
	title  string
	data   any
}

// frame is what is around every page.
type frame struct {
	Title string
	Data  any
	Cost  kvmodel.Cost
	took  time.Duration
}

// Milliseconds is how long it took to find out what to show.
func (f frame) Milliseconds() float64 { return float64(f.took) / float64(time.Millisecond) }

// serve writes what h answers, with what that has cost.
func serve(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, meter := kvmodel.Metered(r.Context())
		start := time.Now()
		got, err := h(r.WithContext(ctx))
		if err != nil {
			got = failure(r, err)
		}
		w.Header().Set("X-Store-Cost", meter.Cost().String())
		if got.to != "" {
			http.Redirect(w, r, got.to, http.StatusSeeOther)
			return
		}
		write(w, got, frame{got.title, got.data, meter.Cost(), time.Since(start)})
	}
}

func write(w http.ResponseWriter, a answer, f frame) {
	var body bytes.Buffer
	if err := templates[a.page].ExecuteTemplate(&body, "frame", f); err != nil {
		slog.Error("example-app: a page cannot be written", "page", a.page, "err", err)
		http.Error(w, "This page cannot be written.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if a.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(max(a.status, http.StatusOK))
	// A visitor who has gone needs no page.
	_, _ = w.Write(body.Bytes())
}

//go:embed pages/*.html
var sources embed.FS

// templates has each page within the frame, by name.
var templates = parse("home", "page", "draft", "members", "member", "join", "failure")

func parse(names ...string) map[string]*template.Template {
	base := template.Must(template.New("").Funcs(template.FuncMap{"when": when, "stamp": stamp}).
		ParseFS(sources, "pages/frame.html"))
	pages := make(map[string]*template.Template)
	for _, name := range names {
		clone := template.Must(base.Clone())
		pages[name] = template.Must(clone.ParseFS(sources, "pages/"+name+".html"))
	}
	return pages
}

// when is a time as people read it, stamp the same for machines.
func when(t time.Time) string  { return t.UTC().Format("2 Jan 2006, 15:04 UTC") }
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
