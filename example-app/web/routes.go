package web

import (
	"context"
	"net/http"
	"net/url"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

type route struct {
	method, path string
	handle       handler
}

// routes lists every page and form. After a form, a comment has the words on its button and its
// fields. The forms for a page or a comment check the member themselves, so that they can show
// guests their text again.
var routes = []route{
	{"GET", "/{$}", (*Site).home},              // newest and popular pages; for members, also their feed
	{"POST", "/drawings", (*Site).setDrawings}, // Hide the drawings, Show the drawings: drawings
	{"GET", "/newest", (*Site).newest},         // ?at=CURSOR
	{"GET", "/feed", members((*Site).feed)},    // pages by the members and on the topics one follows; ?at=CURSOR
	{"GET", "/ranking", (*Site).ranking},       // ?span=today|week|last|all|liked&at=CURSOR&page=ID, the page whose neighbors are shown
	{"GET", "/search", (*Site).search},         // the pages whose titles begin with ?q=; ?at=CURSOR

	{"GET", "/p/{slug}", (*Site).page}, // a page; ?comments=CURSOR
	{"GET", "/write", members((*Site).writeForm)},
	{"POST", "/write", (*Site).write},                // Save page: id title body topics
	{"GET", "/edit/{id}", members((*Site).editForm)}, // ?edit=NUMBER, an earlier one whose text the form has
	{"POST", "/edit/{id}", (*Site).edit},             // Save page: version title body topics
	{"GET", "/history/{id}", members((*Site).history)},
	{"POST", "/delete/{id}", members((*Site).trash)},                          // Delete page: version
	{"GET", "/trash", members((*Site).trashed)},                               // ?at=CURSOR
	{"POST", "/restore/{id}", members((*Site).restore)},                       // Restore
	{"POST", "/comment/{id}", (*Site).comment},                                // Post comment: id text; the page's id is in the path
	{"POST", "/p/{slug}/like", deed("/p/", "slug", (*ashiato.Site).Like)},     // Like
	{"POST", "/p/{slug}/unlike", deed("/p/", "slug", (*ashiato.Site).Unlike)}, // Take back your like

	{"GET", "/m/{handle}", (*Site).profile},                                           // ?at=CURSOR
	{"POST", "/m/{handle}/follow", deed("/m/", "handle", (*ashiato.Site).Follow)},     // Follow
	{"POST", "/m/{handle}/unfollow", deed("/m/", "handle", (*ashiato.Site).Unfollow)}, // Unfollow

	{"GET", "/topics", (*Site).topics},                                                   // ?at=CURSOR
	{"GET", "/t/{topic}", (*Site).topic},                                                 // ?at=CURSOR
	{"POST", "/t/{topic}/follow", deed("/t/", "topic", (*ashiato.Site).FollowTopic)},     // Follow
	{"POST", "/t/{topic}/unfollow", deed("/t/", "topic", (*ashiato.Site).UnfollowTopic)}, // Unfollow

	{"GET", "/footprints", members((*Site).footprints)},
	{"POST", "/footprints/seen", members((*Site).seen)}, // Mark all as seen: until

	{"GET", "/signup", (*Site).signUpForm}, // ?next=PATH
	{"POST", "/signup", (*Site).signUp},    // Sign up: id handle password next
	{"GET", "/login", (*Site).logInForm},   // ?next=PATH
	{"POST", "/login", (*Site).logIn},      // Log in: handle password next
	{"POST", "/logout", (*Site).logOut},    // Log out

	{"GET", "/settings", members((*Site).settings)},
	{"POST", "/settings/profile", members((*Site).describe)},         // Save profile: about
	{"POST", "/settings/password", members((*Site).changePassword)},  // Change password: old password
	{"POST", "/settings/sessions/end", members((*Site).endSessions)}, // Log out everywhere

	{"GET", "/hood", (*Site).hood},       // Under the hood; ?list=INDEX&of=TOPIC
	{"POST", "/hood/kill", (*Site).kill}, // Kill a writer
}

// deed returns the handler of a button. It sends guests to log in, and back to the page.
func deed(base, name string, do func(app *ashiato.Site, ctx context.Context, member, name string) error) handler {
	return func(s *Site, v *visit) error {
		page := base + url.PathEscape(v.PathValue(name))
		member, err := v.signedIn()
		if err == errSignedOut {
			return v.redirect(logInPath(page), nil)
		}
		if err == nil {
			err = do(s.app, v.Context(), member, v.PathValue(name))
		}
		return v.redirect(page, err)
	}
}

// Forms returns the paths of forms.
func Forms() []string {
	var paths []string
	for _, r := range routes {
		if r.method == http.MethodPost {
			paths = append(paths, r.path)
		}
	}
	return paths
}
