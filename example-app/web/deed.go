package web

import (
	"context"
	"net/url"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

// A deed is what one button does for a member to what a page shows.
type deed func(app *ashiato.Site, ctx context.Context, member, name string) error

// deeds has the deeds by the paths of their forms, which are the path of the page and the
// deed's name: /m/ann/follow.
var deeds = map[string]deed{
	"m/follow":   byHandle((*ashiato.Site).Follow),
	"m/unfollow": byHandle((*ashiato.Site).Unfollow),
	"t/follow":   (*ashiato.Site).FollowTopic,
	"t/unfollow": (*ashiato.Site).UnfollowTopic,
	"p/like":     (*ashiato.Site).Like,
	"p/unlike":   (*ashiato.Site).Unlike,
}

// byHandle returns do for the member with a handle, which does it for one with an id.
func byHandle(do deed) deed {
	return func(app *ashiato.Site, ctx context.Context, member, handle string) error {
		other, err := app.Find(ctx, handle)
		if err != nil {
			return err
		}
		return do(app, ctx, member, other.ID)
	}
}

// do does the deed that the path names. It sends guests to log in first, and come back to the
// page with the button.
func (s *Site) do(v *visit) error {
	parts := strings.Split(v.URL.EscapedPath(), "/") // "", the kind of the page, its name, and the deed
	page := "/" + parts[1] + "/" + parts[2]
	name, err := url.PathUnescape(parts[2])
	if err != nil {
		return errNoSuchPage
	}
	member, err := v.signedIn()
	if err == errSignedOut {
		return v.redirect(logInPath(page), nil)
	}
	if err == nil {
		err = deeds[parts[1]+"/"+parts[3]](s.app, v.Context(), member, name)
	}
	return v.redirect(page, err)
}
