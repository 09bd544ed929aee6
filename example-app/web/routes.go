package web

import "net/http"

// route is one way into the site.
type route struct {
	method, path string
	handle       handler
}

// routes lists every page and every form. The comment after a form gives the words
// on its button and the names of its fields.
//
// A handler in members runs only for members. The forms for a page or a comment check
// the member themselves, so that they can show guests what they typed. The forms of deeds
// have guests log in first.
var routes = []route{
	{"GET", "/{$}", (*Site).home},           // newest and popular pages; for members, also their feed
	{"GET", "/newest", (*Site).newest},      // ?at=CURSOR
	{"GET", "/feed", members((*Site).feed)}, // pages by the members and on the topics one follows; ?at=CURSOR
	{"GET", "/ranking", (*Site).ranking},    // ?span=today|week|all|liked&at=CURSOR&page=ID, the page whose neighbors are shown

	{"GET", "/search", (*Site).search}, // the pages whose titles begin with ?q=; ?at=CURSOR

	{"GET", "/p/{slug}", (*Site).page}, // a page; ?comments=CURSOR
	{"GET", "/write", members((*Site).writeForm)},
	{"POST", "/write", (*Site).write}, // Save page: id title body topics slug
	{"GET", "/edit/{id}", members((*Site).editForm)},
	{"POST", "/edit/{id}", (*Site).edit},                // Save page: version title body topics slug
	{"POST", "/delete/{id}", members((*Site).trash)},    // Delete page: version
	{"GET", "/trash", members((*Site).trashed)},         // ?at=CURSOR
	{"POST", "/restore/{id}", members((*Site).restore)}, // Restore
	{"GET", "/history/{id}", members((*Site).history)},
	{"POST", "/history/{id}", members((*Site).bringBack)}, // Bring back: version edit
	{"POST", "/p/{slug}/like", (*Site).do},                // Like
	{"POST", "/p/{slug}/unlike", (*Site).do},              // Take back your like
	{"POST", "/comment/{id}", (*Site).comment},            // Post comment: id text; the page's id is in the path

	{"GET", "/m/{handle}", (*Site).profile},             // ?at=CURSOR
	{"GET", "/m/{handle}/followers", (*Site).followers}, // ?at=CURSOR
	{"POST", "/m/{handle}/follow", (*Site).do},          // Follow
	{"POST", "/m/{handle}/unfollow", (*Site).do},        // Unfollow

	{"GET", "/topics", (*Site).topics},          // ?at=CURSOR
	{"GET", "/t/{topic}", (*Site).topic},        // ?at=CURSOR
	{"POST", "/t/{topic}/follow", (*Site).do},   // Follow
	{"POST", "/t/{topic}/unfollow", (*Site).do}, // Unfollow

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

	{"GET", "/hood", (*Site).hood}, // Under the hood; ?list=INDEX&of=WHOSE
}

// Forms returns the paths that accept forms, for tests that try each of them.
func Forms() []string {
	var paths []string
	for _, r := range routes {
		if r.method == http.MethodPost {
			paths = append(paths, r.path)
		}
	}
	return paths
}
