package web

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/sessions"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
)

// visit is one request and the person who makes it. The site looks that person up
// while the handler reads what to show, so a handler waits only where it has to know.
type visit struct {
	*http.Request
	w       http.ResponseWriter
	site    *Site
	id      string // identifies the request in logs and on error pages
	nonce   string // lets the page's script run
	begun   time.Time
	meter   *kv.Meter
	status  int    // of the answer; 0 is 200
	who     string // the id of the member who was logged in when the visit began; see member
	session func() (*sessions.Session, error)
	visitor func() (*ashiato.Visitor, error) // nil: a guest
}

// visit starts to look up who makes the request r.
func (s *Site) visit(w http.ResponseWriter, r *http.Request) *visit {
	ctx, meter := kvmodel.Metered(r.Context())
	v := &visit{
		Request: r.WithContext(ctx), w: w, site: s,
		id: idOf(ctx), nonce: rand.Text(), begun: time.Now(), meter: meter,
	}
	v.session = sync.OnceValues(func() (*sessions.Session, error) {
		session, err := s.sessions.New(v.Request, s.config.cookie(cookieName))
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

// member returns the id of the member who is logged in, or "".
func (v *visit) member() (string, error) {
	_, err := v.session()
	return v.who, err
}

// signedIn returns the id of the member who is logged in, or errSignedOut.
func (v *visit) signedIn() (string, error) {
	member, err := v.member()
	if err == nil && member == "" {
		return "", errSignedOut
	}
	return member, err
}

// allowed returns the id of the member who is logged in, as often as the limit allows.
func (v *visit) allowed(limit guard.Limit) (string, error) {
	member, err := v.signedIn()
	if err == nil {
		err = v.site.app.Allow(v.Context(), guard.Try{Limit: limit, Who: member})
	}
	return member, err
}

// keepAlive saves the session, which usually costs nothing. A session that has ended
// is not an error.
func (v *visit) keepAlive() error {
	session, err := v.session()
	if err != nil || v.who == "" {
		return err
	}
	err = session.Save(v.Request, v.w)
	if errors.Is(err, kvsession.ErrEnded) {
		return nil
	}
	return err
}

// looks reports whether a person is viewing the page, rather than a browser that
// prefetches it or embeds it in another page.
func (v *visit) looks() bool {
	dest := v.Header.Get("Sec-Fetch-Dest")
	ahead := v.Header.Get("Sec-Purpose") + v.Header.Get("Purpose")
	return v.Method == http.MethodGet && (dest == "" || dest == "document") && !strings.Contains(ahead, "prefetch")
}

type idKey struct{}

// idOf returns the id of the request with the context ctx.
func idOf(ctx context.Context) string {
	id, _ := ctx.Value(idKey{}).(string)
	return id
}

// browser returns what the list of sessions shows for a request: the browser and the
// system.
func browser(r *http.Request) string {
	agent := r.UserAgent()
	name := firstIn(agent, "Unknown browser", "Edg", "Edge", "OPR", "Opera", "Firefox", "Firefox", "Chrome", "Chrome", "Safari", "Safari", "curl", "curl")
	system := firstIn(agent, "", "Android", "Android", "iPhone", "iPhone", "iPad", "iPad", "Windows", "Windows", "Mac OS", "macOS", "Linux", "Linux")
	if system == "" {
		return name
	}
	return name + " on " + system
}

// firstIn returns the name that follows the first sign found in text.
func firstIn(text, none string, signs ...string) string {
	for i := 0; i < len(signs); i += 2 {
		if strings.Contains(text, signs[i]) {
			return signs[i+1]
		}
	}
	return none
}
