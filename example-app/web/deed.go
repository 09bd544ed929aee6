package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
)

// A deed is what one button does for a member to what a page shows.
type deed struct {
	wish string // what a guest is told before they log in; empty if guests are refused
	do   change
}

// A change is one that a member makes to what goes by a name.
type change func(app *ashiato.Site, ctx context.Context, member, name string) error

// deeds has the deeds by the paths of their forms, which are the path of the page and the
// deed's name: /m/ann/follow.
var deeds = map[string]deed{
	"m/follow":   {"Then you’ll follow ", byHandle((*ashiato.Site).Follow)},
	"m/unfollow": {"", byHandle((*ashiato.Site).Unfollow)},
	"t/follow":   {"Then you’ll follow ", (*ashiato.Site).FollowTopic},
	"t/unfollow": {"", (*ashiato.Site).UnfollowTopic},
	"p/like":     {"Then you’ll like ", (*ashiato.Site).Like},
	"p/unlike":   {"", (*ashiato.Site).Unlike},
}

// byHandle returns do for the member with a handle, which does it for one with an id.
func byHandle(do change) change {
	return func(app *ashiato.Site, ctx context.Context, member, handle string) error {
		other, err := app.Find(ctx, handle)
		if err != nil {
			return err
		}
		return do(app, ctx, member, other.ID)
	}
}

// deedAt returns the deed of a form's path, the page to return to, and the name of what
// that shows. It reports whether path is one of a form's.
func deedAt(path string) (d deed, page, name string, ok bool) {
	parts := strings.Split(path, "/")
	if len(parts) != 4 || parts[0] != "" || parts[2] == "" {
		return deed{}, "", "", false
	}
	name, err := url.PathUnescape(parts[2])
	d, ok = deeds[parts[1]+"/"+parts[3]]
	return d, "/" + parts[1] + "/" + parts[2], name, ok && err == nil
}

// do does the deed that the path names. It sends guests to log in first and come back to
// have it done.
func (s *Site) do(v *visit) error {
	d, page, name, ok := deedAt(v.URL.EscapedPath())
	if !ok {
		return errNoSuchPage
	}
	member, err := v.signedIn()
	if err == errSignedOut && d.wish != "" {
		s.setWish(v, v.URL.EscapedPath(), wishTime)
		return v.redirect(pages.LogInPath(page), nil)
	}
	if err != nil {
		return err
	}
	return v.redirect(page, d.do(s.app, v.Context(), member, name))
}

// A wish is the path of a deed's form that a guest has sent. It is carried out once the
// guest has logged in. The form for that repeats it, and a cookie says that it was this
// browser that sent it: no link can make someone follow anybody.

// wishTime is how long a browser remembers a wish.
const wishTime = 10 * time.Minute

// setWish makes the browser remember a wish for a time, or forget it if that is negative.
func (s *Site) setWish(v *visit, wish string, d time.Duration) {
	http.SetCookie(v.w, &http.Cookie{
		Name: s.config.cookie(wishName), Value: wish, Path: "/", MaxAge: int(d.Seconds()),
		HttpOnly: true, Secure: !s.config.Development, SameSite: http.SameSiteStrictMode,
	})
}

// wish returns what this browser wished for on the page next, and the words for that. Both
// are empty if it wished for nothing.
func (s *Site) wish(v *visit, next string) (wish, words string) {
	cookie, err := v.Cookie(s.config.cookie(wishName))
	if err != nil {
		return "", ""
	}
	d, page, name, ok := deedAt(cookie.Value)
	if !ok || d.wish == "" || page != next {
		return "", ""
	}
	return cookie.Value, d.wish + name + "."
}

// fulfill carries out the wish that the form repeats, if it is this browser's. If it cannot
// be, the page next shows so: the member has logged in all the same.
func (s *Site) fulfill(v *visit, member, next string) {
	wish, _ := s.wish(v, next)
	if wish == "" || v.PostFormValue("wish") != wish {
		return
	}
	s.setWish(v, "", -1)
	d, _, name, _ := deedAt(wish)
	if err := d.do(s.app, v.Context(), member, name); err != nil {
		v.report(err)
	}
}
