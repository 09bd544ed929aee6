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

// serve answers the requests of a route. An error becomes a page by the table
// in outcome.go.
func (s *Site) serve(rt route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := s.visit(w, r)
		got, err := s.answer(rt, v)
		if err == nil && got.status < http.StatusInternalServerError {
			err = v.keepAlive()
		}
		if err != nil {
			got = s.failure(v, err)
		}
		if got.to != "" {
			w.Header().Set("Cache-Control", "no-store")
			s.tellCost(v)
			http.Redirect(w, v.Request, got.to, http.StatusSeeOther)
			return
		}
		s.show(v, got)
	})
}

// answer asks the route's handler, if the visitor may use it.
func (s *Site) answer(rt route, v *visit) (answer, error) {
	if rt.who != members {
		return rt.handle(s, v)
	}
	member, err := v.member()
	switch {
	case err != nil:
		return answer{}, err
	case member != "":
		return rt.handle(s, v)
	case v.Method == http.MethodGet || v.Method == http.MethodHead:
		return answer{to: logInPath(v.URL.RequestURI())}, nil
	}
	return answer{}, errSignedOut
}

// show writes the page in its frame.
func (s *Site) show(v *visit, a answer) {
	visitor, err := v.visitor()
	if err != nil && a.status < http.StatusInternalServerError {
		a = s.failure(v, err)
	}
	f := pages.Frame{Title: a.title, Here: a.here, Nonce: v.nonce, Hood: hoodPath(a.slug)}
	header := v.w.Header()
	header.Set("Content-Security-Policy", policy(v.nonce))
	if visitor != nil {
		header.Set("Cache-Control", "no-store")
		f.Visitor = &pages.Visitor{Handle: visitor.Member.Handle, Unread: visitor.Unread}
	}
	if a.live {
		f.Script = "/live.js"
	}
	f.Cost = s.tellCost(v)
	// What was read is written, and so is the page that says that the time was up.
	var body bytes.Buffer
	if err := pages.Document(f, a.body).Render(context.WithoutCancel(v.Context()), &body); err != nil {
		slog.Error("a page cannot be written", "request", v.id, "path", v.URL.Path, "err", err)
		http.Error(v.w, "This page cannot be written. Try again in a moment.", http.StatusInternalServerError)
		return
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(body.Len()))
	v.w.WriteHeader(max(a.status, http.StatusOK))
	// A visitor who has gone needs no page.
	_, _ = v.w.Write(body.Bytes())
}

// tellCost tells, in development, what the visit has asked of the store: in a
// header, and as a badge for the page.
func (s *Site) tellCost(v *visit) *templates.Cost {
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
