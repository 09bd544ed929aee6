package main

import (
	"bytes"
	"html/template"
	"log"
	"net/http"

	"github.com/ringtree/ringtree/kvmodel"
)

// visits is where the page counts: docs/keys.md.
var visits = kvmodel.NewClass("example", 1).Key("visits")

// page is the placeholder: it counts each visit and shows what that cost.
type page struct {
	store kvmodel.Store
	kind  string // of store
}

func newPage(store kvmodel.Store, kind string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", &page{kvmodel.Count(store), kind})
	return mux
}

type pageData struct {
	Kind   string
	Visits int64
	Cost   kvmodel.Cost
	Failed bool
}

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, meter := kvmodel.Metered(r.Context())
	n, err := kvmodel.Next(ctx, p.store, visits, 0, 1)
	status := http.StatusOK
	if err != nil {
		log.Print("count a visit: ", err)
		status = http.StatusServiceUnavailable
	}
	var body bytes.Buffer
	err = pageTemplate.Execute(&body, pageData{p.kind, n, meter.Cost(), err != nil})
	if err != nil {
		log.Print("write the page: ", err)
		http.Error(w, "the page cannot be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// A visitor who has gone needs no page.
	_, _ = w.Write(body.Bytes())
}

var pageTemplate = template.Must(template.New("page").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>ringtree: the sample app is not built yet</title>
<style>
body { font: 1.1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem }
footer { margin-top: 3rem; border-top: 1px solid; padding-top: .5rem; font-size: .9rem }
</style>
</head>
<body>
<main>
<h1>The sample app is not built yet</h1>
<p>This page keeps its place. What there is today are the stores the app will
stand on, and this one ({{.Kind}}) is counting:</p>
{{if .Failed -}}
<p role="alert"><strong>The store does not answer, so this visit is not counted.</strong></p>
{{- else -}}
<p>You are visit number <strong id="visits">{{.Visits}}</strong>.</p>
{{- end}}
</main>
<footer>This page asked of the store: <span id="cost">{{.Cost}}</span>.</footer>
</body>
</html>
`))
