package web

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/templates"
)

// show answers with a page: body in its frame. If it returns an error, it has written
// nothing.
func (v *visit) show(f pages.Frame, body templ.Component) error {
	visitor, err := v.visitor()
	if v.status < http.StatusInternalServerError {
		if err == nil {
			err = v.keepAlive()
		}
		if err != nil {
			return err
		}
	}
	v.write(f, visitor, body)
	return nil
}

// write writes a page for the visitor.
func (v *visit) write(f pages.Frame, visitor *ashiato.Visitor, body templ.Component) {
	header := v.w.Header()
	header.Set("Content-Security-Policy", guard.Policy(v.nonce))
	if visitor != nil {
		header.Set("Cache-Control", "no-store")
	}
	f.Visitor, f.Nonce, f.Cost = visitor, v.nonce, v.cost()
	// The deadline is for reading. The page that reports a missed deadline must still
	// be written.
	var page bytes.Buffer
	if err := pages.Document(f, body).Render(context.WithoutCancel(v.Context()), &page); err != nil {
		slog.Error("render failed", "request", v.id, "path", v.URL.Path, "err", err)
		http.Error(v.w, "This page could not be displayed. Try again in a moment.", http.StatusInternalServerError)
		return
	}
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(page.Len()))
	v.w.WriteHeader(max(v.status, http.StatusOK))
	// A visitor who has left needs no page.
	_, _ = v.w.Write(page.Bytes())
}

// redirect answers with another address of the site. If there is an error, it returns that
// instead.
func (v *visit) redirect(path string, err error) error {
	if err == nil {
		err = v.keepAlive()
	}
	if err != nil {
		return err
	}
	v.w.Header().Set("Cache-Control", "no-store")
	v.cost()
	http.Redirect(v.w, v.Request, path, http.StatusSeeOther)
	return nil
}

// cost returns, in development, what the visit has cost the store. It also sets a header
// that says so.
func (v *visit) cost() *templates.Cost {
	if !v.site.config.Development {
		return nil
	}
	cost := v.meter.Cost()
	v.w.Header().Set("X-Store-Cost", cost.String())
	return &templates.Cost{
		Trips: cost.Trips, Deep: cost.Depth, Keys: cost.Keys,
		Bytes: int64(cost.Read + cost.Wrote), Time: time.Since(v.begun),
	}
}
