package web

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// serve returns a handler for requests. An error becomes a page by the table in
// outcome.go.
func (s *Site) serve(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := s.visit(w, r)
		got, err := handle(s, v)
		if err == nil && got.status < http.StatusInternalServerError {
			err = v.keepAlive()
		}
		if err != nil {
			got = s.failure(v, err)
		}
		if got.to != "" {
			w.Header().Set("Cache-Control", "no-store")
			s.showCost(v)
			http.Redirect(w, v.Request, got.to, http.StatusSeeOther)
			return
		}
		s.show(v, got)
	})
}

// show writes the page in its frame.
func (s *Site) show(v *visit, a answer) {
	visitor, err := v.visitor()
	if err != nil && a.status < http.StatusInternalServerError {
		a = s.failure(v, err)
	}
	f := pages.Frame{Title: a.title, Here: a.here, Query: a.query, Nonce: v.nonce, Hood: hoodPath(a.slug)}
	header := v.w.Header()
	header.Set("Content-Security-Policy", policy(v.nonce))
	if visitor != nil {
		header.Set("Cache-Control", "no-store")
		f.Visitor = &pages.Visitor{Handle: visitor.Member.Handle, Unread: visitor.Unread}
	}
	if a.live {
		f.Script = "/live.js"
	}
	f.Cost = s.showCost(v)
	// The deadline is for reading. The page that reports a missed deadline must still
	// be written.
	page := a.body
	if !a.bare {
		page = pages.Document(f, a.body)
	}
	var body bytes.Buffer
	if err := page.Render(context.WithoutCancel(v.Context()), &body); err != nil {
		slog.Error("render failed", "request", v.id, "path", v.URL.Path, "err", err)
		http.Error(v.w, "This page could not be displayed. Try again in a moment.", http.StatusInternalServerError)
		return
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	v.w.WriteHeader(max(a.status, http.StatusOK))
	// A visitor who has left needs no page.
	_, _ = v.w.Write(body.Bytes())
}

// showCost reports, in development, what the visit cost the store. It sets a header
// and returns a badge for the page.
func (s *Site) showCost(v *visit) *templates.Cost {
	if !s.config.Development {
		return nil
	}
	cost := v.meter.Cost()
	v.w.Header().Set("X-Store-Cost", cost.String())
	return &templates.Cost{
		Trips: cost.Trips, Deep: cost.Depth, Keys: cost.Keys,
		Bytes: int64(cost.Read + cost.Wrote), Time: time.Since(v.begun),
	}
}
