package web

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/gorilla/sessions"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
	"github.com/ringtree/ringtree/templates"
)

// visit is a request. Its visitor is looked up while the handler loads the data.
type visit struct {
	*http.Request
	w       http.ResponseWriter
	site    *Site
	id      string // identifies the request in logs and on error pages
	nonce   string // lets the page's script run
	begun   time.Time
	meter   *kv.Meter
	status  int    // of the answer; 0 is 200
	who     string // the id of the member logged in at the start of the visit; see member
	session func() (*sessions.Session, error)
	visitor func() (*ashiato.Visitor, error) // nil: a guest
}

func (s *Site) visit(w http.ResponseWriter, r *http.Request) *visit {
	ctx, meter := kvmodel.Metered(r.Context())
	v := &visit{Request: r.WithContext(ctx), w: w, site: s, id: rand.Text()[:8], nonce: rand.Text(), begun: time.Now(), meter: meter}
	v.session = sync.OnceValues(func() (*sessions.Session, error) {
		session, err := s.sessions.New(v.Request, s.config.cookie())
		v.who = s.sessions.User(session)
		return session, err
	})
	v.visitor = sync.OnceValues(func() (*ashiato.Visitor, error) {
		member, err := v.member()
		if err != nil {
			return nil, err
		}
		visitor, err := s.app.Visitor(ctx, member)
		if errors.Is(err, kvmodel.ErrNotFound) {
			return nil, nil
		}
		return visitor, err
	})
	go v.visitor()
	return v
}

// member returns the id of the logged-in member, or "".
func (v *visit) member() (string, error) {
	_, err := v.session()
	return v.who, err
}

// signedIn returns errSignedOut for a guest.
func (v *visit) signedIn() (string, error) {
	member, err := v.member()
	if err == nil && member == "" {
		err = errSignedOut
	}
	return member, err
}

// allowed is signedIn, and counts a try.
func (v *visit) allowed(limit guard.Limit) (string, error) {
	member, err := v.signedIn()
	if err == nil {
		err = v.site.app.Allow(v.Context(), guard.Try{Limit: limit, Who: member})
	}
	return member, err
}

func (v *visit) from() string { return guard.Address(v.Request, !v.site.config.Development) }

// looks excludes browsers that prefetch or embed the page.
func (v *visit) looks() bool {
	dest := v.Header.Get("Sec-Fetch-Dest")
	ahead := v.Header.Get("Sec-Purpose") + v.Header.Get("Purpose")
	return v.Method == http.MethodGet && (dest == "" || dest == "document") && !strings.Contains(ahead, "prefetch")
}

// keepAlive saves the session, which usually costs nothing.
func (v *visit) keepAlive() error {
	session, err := v.session()
	if err != nil || v.who == "" {
		return err
	}
	if err = session.Save(v.Request, v.w); errors.Is(err, kvsession.ErrEnded) {
		return nil
	}
	return err
}

// show answers with body in its frame, unless err is not nil. If it returns an error, it has
// written nothing. A failure of the store is shown even to an unknown visitor.
func (v *visit) show(f frame, body templ.Component, err error) error {
	if err != nil {
		return err
	}
	visitor, err := v.visitor()
	if err == nil {
		err = v.keepAlive()
	}
	if err != nil && v.status < http.StatusInternalServerError {
		return err
	}
	v.write(f, visitor, body)
	return nil
}

func (v *visit) write(f frame, visitor *ashiato.Visitor, body templ.Component) {
	f.Visitor, f.Nonce, f.Cost = visitor, v.nonce, v.cost()
	var page bytes.Buffer
	// The deadline is for reading. The page that reports a missed deadline must still be written.
	if err := document(f, body).Render(context.WithoutCancel(v.Context()), &page); err != nil {
		slog.Error("render failed", "request", v.id, "path", v.URL.Path, "err", err)
		http.Error(v.w, "This page could not be displayed. Try again in a moment.", http.StatusInternalServerError)
		return
	}
	header := v.w.Header()
	header.Set("Content-Security-Policy", guard.Policy(v.nonce))
	header.Set("Content-Type", "text/html; charset=utf-8")
	if visitor != nil {
		header.Set("Cache-Control", "no-store")
	}
	v.w.WriteHeader(max(v.status, http.StatusOK))
	// The visitor has left.
	_, _ = v.w.Write(page.Bytes())
}

func (v *visit) redirect(path string, err error) error {
	if err == nil {
		err = v.keepAlive()
	}
	if err == nil {
		v.w.Header().Set("Cache-Control", "no-store")
		v.cost()
		http.Redirect(v.w, v.Request, path, http.StatusSeeOther)
	}
	return err
}

// cost is for development.
func (v *visit) cost() *templates.Cost {
	if !v.site.config.Development {
		return nil
	}
	c := v.meter.Cost()
	v.w.Header().Set("X-Store-Cost", c.String())
	return &templates.Cost{Trips: c.Trips, Deep: c.Depth, Keys: c.Keys, Bytes: int64(c.Read + c.Wrote), Time: time.Since(v.begun)}
}
