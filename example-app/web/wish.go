package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"
)

// A wish is the path of a form that a guest has sent, to follow a member or a topic. It is
// carried out once the guest has logged in. The form for that repeats it, and a cookie says
// that it was this browser that sent it: no link can make someone follow anybody.

// wishTime is how long a browser remembers a wish.
const wishTime = 10 * time.Minute

// orLogIn returns a handler that calls handle for members, and sends guests to log in first.
func orLogIn(handle memberHandler) handler {
	return membersOr(handle, func(s *Site, v *visit) (answer, error) {
		wish := v.URL.EscapedPath()
		place, _ := placeOf(wish)
		s.setWish(v, wish, wishTime)
		return answer{to: logInPath(place)}, nil
	})
}

// placeOf returns the page that a wish was made on, and whom or what to follow there. Both
// are empty if wish is none.
func placeOf(wish string) (place, what string) {
	place, follow := strings.CutSuffix(wish, "/follow")
	kind, name, _ := strings.Cut(strings.TrimPrefix(place, "/"), "/")
	what, err := url.PathUnescape(name)
	if !follow || err != nil || what == "" || strings.Contains(name, "/") || kind != "m" && kind != "t" || !strings.HasPrefix(place, "/") {
		return "", ""
	}
	return place, what
}

// setWish makes the browser remember a wish for a time, or forget it if that is negative.
func (s *Site) setWish(v *visit, wish string, d time.Duration) {
	http.SetCookie(v.w, &http.Cookie{
		Name: s.config.cookie(wishName), Value: wish, Path: "/", MaxAge: int(d.Seconds()),
		HttpOnly: true, Secure: !s.config.Development, SameSite: http.SameSiteStrictMode,
	})
}

// wish returns what this browser wished for on the page next, or "".
func (s *Site) wish(v *visit, next string) string {
	cookie, err := v.Cookie(s.config.cookie(wishName))
	if err != nil {
		return ""
	}
	if place, _ := placeOf(cookie.Value); place == "" || place != next {
		return ""
	}
	return cookie.Value
}

// fulfill carries out the wish that the form repeats, if it is this browser's. If it cannot
// be, the page next shows so: the member has logged in all the same.
func (s *Site) fulfill(v *visit, member, next string) {
	wish := s.wish(v, next)
	if wish == "" || v.PostFormValue("wish") != wish {
		return
	}
	s.setWish(v, "", -1)
	_, what := placeOf(wish)
	var err error
	if strings.HasPrefix(wish, "/t/") {
		err = s.app.FollowTopic(v.Context(), member, what)
	} else {
		err = s.followMember(v, member, what)
	}
	if err != nil {
		report(v, err)
	}
}

func (s *Site) followMember(v *visit, member, handle string) error {
	other, err := s.app.Find(v.Context(), handle)
	if err != nil {
		return err
	}
	return s.app.Follow(v.Context(), member, other.ID)
}
