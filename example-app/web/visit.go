package web

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/sessions"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvsession"
)

// visit is one request, and who makes it. Who that is is looked up while the
// handler looks up what is to be shown; it waits only where it has to know.
type visit struct {
	*http.Request
	w       http.ResponseWriter
	id      string // names the request in logs and on error pages
	nonce   string // lets the page's script run
	begun   time.Time
	meter   *kv.Meter
	from    string // the address that it comes from
	holder  func() (holder, error)
	visitor func() (*ashiato.Visitor, error) // nil: a guest
}

// holder is the session of a visit, and who was signed in as it began.
type holder struct {
	session *sessions.Session
	member  string
}

// visit begins to find out who makes the request r.
func (s *Site) visit(w http.ResponseWriter, r *http.Request) *visit {
	ctx, meter := kvmodel.Metered(r.Context())
	v := &visit{
		Request: r.WithContext(ctx), w: w, id: idOf(ctx), nonce: rand.Text(), begun: time.Now(), meter: meter,
		from: addressOf(r, !s.config.Development),
	}
	v.holder = sync.OnceValues(func() (holder, error) {
		session, err := s.sessions.New(v.Request, cookieName)
		return holder{session, s.sessions.User(session)}, err
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

// member returns the id of who is signed in, or "".
func (v *visit) member() (string, error) {
	h, err := v.holder()
	return h.member, err
}

// keepAlive saves the session, which costs nothing most of the time. One that
// has ended meanwhile has no need of it.
func (v *visit) keepAlive() error {
	h, err := v.holder()
	if err != nil || h.member == "" {
		return err
	}
	err = h.session.Save(v.Request, v.w)
	if errors.Is(err, kvsession.ErrEnded) {
		return nil
	}
	return err
}

// addressOf returns the address that a request comes from. Behind a proxy it is the
// last one of those that were added on the way: the others anybody can make up.
func addressOf(r *http.Request, proxied bool) string {
	if forwarded := r.Header.Values("X-Forwarded-For"); proxied && len(forwarded) > 0 {
		last := forwarded[len(forwarded)-1]
		if ip := net.ParseIP(strings.TrimSpace(last[strings.LastIndexByte(last, ',')+1:])); ip != nil {
			return ip.String()
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}

// looks tells whether somebody is looking at the page, rather than a browser
// that loads it ahead of time or as a part of another page.
func (v *visit) looks() bool {
	dest := v.Header.Get("Sec-Fetch-Dest")
	ahead := v.Header.Get("Sec-Purpose") + v.Header.Get("Purpose")
	return v.Method == http.MethodGet && (dest == "" || dest == "document") && !strings.Contains(ahead, "prefetch")
}

type idKey struct{}

// idOf returns the id of the request that ctx belongs to.
func idOf(ctx context.Context) string {
	id, _ := ctx.Value(idKey{}).(string)
	return id
}

// browser is what the list of sessions says of one: which browser, on what.
func browser(r *http.Request) string {
	agent := r.UserAgent()
	name := firstIn(agent, "a browser", "Edg", "Edge", "OPR", "Opera", "Firefox", "Firefox", "Chrome", "Chrome", "Safari", "Safari", "curl", "curl")
	system := firstIn(agent, "", "Android", "Android", "iPhone", "iPhone", "iPad", "iPad", "Windows", "Windows", "Mac OS", "macOS", "Linux", "Linux")
	if system == "" {
		return name
	}
	return name + " on " + system
}

// firstIn returns the name after the first sign that is in text.
func firstIn(text, none string, signs ...string) string {
	for i := 0; i < len(signs); i += 2 {
		if strings.Contains(text, signs[i]) {
			return signs[i+1]
		}
	}
	return none
}
