package web

import "net/http"

// who may use a route.
type who uint8

const (
	anyone  who = iota
	members     // those who are signed in: others are led to log in and come back, their forms refused
	writers     // the same, but a form that comes from others is shown again with what was typed
)

// A handler finds out what to answer. An error becomes a page by the table in
// outcome.go.
type handler func(*Site, *visit) (answer, error)

// route is one way into the site.
type route struct {
	method, path string
	who          who
	handle       handler
}

// routes is every page and every form there is. Behind a form stand the words on
// its button, and the names of its fields.
var routes = []route{
	{"GET", "/{$}", anyone, (*Site).home},        // newest, what is popular; the feed for members
	{"GET", "/newest", anyone, (*Site).newest},   // ?at=CURSOR
	{"GET", "/feed", members, (*Site).feed},      // by whom and on what one follows; ?at=CURSOR
	{"GET", "/ranking", anyone, (*Site).ranking}, // ?span=today|week|all&at=CURSOR&page=ID, whose neighbours are shown

	{"GET", "/p/{slug}", anyone, (*Site).page}, // a page; ?comments=CURSOR
	{"GET", "/write", members, (*Site).writeForm},
	{"POST", "/write", writers, (*Site).write}, // Save page, Preview (do=preview): id title body topics slug
	{"GET", "/edit/{id}", members, (*Site).editForm},
	{"POST", "/edit/{id}", writers, (*Site).edit},       // Save page, Preview (do=preview): version title body topics slug
	{"POST", "/delete/{id}", members, (*Site).trash},    // Delete page: version
	{"POST", "/comment/{id}", writers, (*Site).comment}, // Post comment: id text; the page's id in the path

	{"GET", "/m/{handle}", anyone, (*Site).profile},             // ?at=CURSOR
	{"GET", "/m/{handle}/followers", anyone, (*Site).followers}, // ?at=CURSOR
	{"POST", "/m/{handle}/follow", members, (*Site).follow},     // Follow
	{"POST", "/m/{handle}/unfollow", members, (*Site).unfollow}, // Unfollow

	{"GET", "/topics", anyone, (*Site).topics},                      // ?at=CURSOR
	{"GET", "/t/{topic}", anyone, (*Site).topic},                    // ?at=CURSOR
	{"GET", "/t/{topic}/followers", anyone, (*Site).topicFollowers}, // ?at=CURSOR
	{"POST", "/t/{topic}/follow", members, (*Site).followTopic},     // Follow
	{"POST", "/t/{topic}/unfollow", members, (*Site).unfollowTopic}, // Unfollow

	{"GET", "/footprints", members, (*Site).footprints}, // ?from=PLACE
	{"POST", "/footprints/seen", members, (*Site).seen}, // Mark all as seen: until

	{"GET", "/signup", anyone, (*Site).signUpForm},
	{"POST", "/signup", anyone, (*Site).signUp},  // Sign up: id handle password
	{"GET", "/login", anyone, (*Site).logInForm}, // ?next=PATH
	{"POST", "/login", anyone, (*Site).logIn},    // Log in: handle password next
	{"POST", "/logout", anyone, (*Site).logOut},  // Log out

	{"GET", "/settings", members, (*Site).settings},
	{"POST", "/settings/profile", members, (*Site).describe},         // Save profile: about
	{"POST", "/settings/password", members, (*Site).changePassword},  // Change password: old password
	{"POST", "/settings/session/end", members, (*Site).endSession},   // Sign out: session
	{"POST", "/settings/sessions/end", members, (*Site).endSessions}, // Sign out everywhere

	{"GET", "/hood", anyone, (*Site).hood}, // Under the hood; ?page=SLUG, the way to which is marked
}

// services are what machines ask for, without a page around it.
var services = map[string]func(*Site, http.ResponseWriter, *http.Request){
	"GET /live":    (*Site).live,    // how many pages are newer than the stream or ?since=HEAD, as server-sent events
	"GET /healthz": (*Site).health,  // asks the store: 200 or 503
	"GET /metrics": (*Site).metrics, // counts
}

// Forms returns the paths that forms are sent to, for tests that try each.
func Forms() []string {
	var paths []string
	for _, r := range routes {
		if r.method == http.MethodPost {
			paths = append(paths, r.path)
		}
	}
	return paths
}
