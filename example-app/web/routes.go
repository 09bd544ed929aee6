package web

import "net/http"

// who may use a route.
type who uint8

const (
	anyone  who = iota
	members     // those who are signed in: others are sent to log in, and come back
)

// route is one way into the site. Its form fields are named in forms.
type route struct {
	method, path string
	who          who
}

// routes is everything the site answers to. A GET changes nothing but that a
// look is a look: the view of a page and the footprint on a profile are counted
// by the visit itself.
var routes = []route{
	{"GET", "/{$}", anyone},      // newest, what is popular; the feed for members
	{"GET", "/newest", anyone},   // all newest pages; ?at=CURSOR
	{"GET", "/live", anyone},     // how many pages are newer than ?since=HEAD, as server-sent events
	{"GET", "/feed", members},    // pages by whom and on what one follows; ?at=CURSOR
	{"GET", "/ranking", anyone},  // ?span=today|week|all&from=PLACE
	{"GET", "/topics", anyone},   // all topics
	{"GET", "/p/{slug}", anyone}, // a page; ?comments=CURSOR

	{"GET", "/write", members},
	{"POST", "/write", members}, // id slug title body tags; do=preview only shows it
	{"GET", "/edit/{id}", members},
	{"POST", "/edit/{id}", members}, // version slug title body tags; do=preview only shows it
	{"POST", "/delete/{id}", members},
	{"POST", "/comment/{id}", members}, // the page's id in the path; id comment

	{"GET", "/m/{handle}", anyone},           // a profile; ?at=CURSOR
	{"GET", "/m/{handle}/followers", anyone}, // ?at=CURSOR
	{"POST", "/m/{handle}/follow", members},
	{"POST", "/m/{handle}/unfollow", members},
	{"GET", "/t/{topic}", anyone},           // a topic's newest pages; ?at=CURSOR
	{"GET", "/t/{topic}/followers", anyone}, // ?at=CURSOR
	{"POST", "/t/{topic}/follow", members},
	{"POST", "/t/{topic}/unfollow", members},

	{"GET", "/footprints", members},       // ?from=PLACE
	{"POST", "/footprints/seen", members}, // Mark all as seen

	{"GET", "/signup", anyone},
	{"POST", "/signup", anyone}, // id handle password
	{"GET", "/login", anyone},   // ?next=PATH
	{"POST", "/login", anyone},  // handle password next
	{"POST", "/logout", anyone},
	{"GET", "/settings", members},
	{"POST", "/settings/profile", members},      // about
	{"POST", "/settings/password", members},     // current password
	{"POST", "/settings/session/end", members},  // session
	{"POST", "/settings/sessions/end", members}, // Sign out everywhere

	{"GET", "/hood", anyone},    // Under the hood
	{"GET", "/healthz", anyone}, // asks the store: 200 or 503, plain text
	{"GET", "/metrics", anyone}, // counts, plain text
}

// forms are the words on the buttons, each of which sends one form.
var forms = map[string]string{
	"POST /write":                 "Save page",
	"POST /edit/{id}":             "Save page",
	"POST /delete/{id}":           "Delete page",
	"POST /comment/{id}":          "Post comment",
	"POST /m/{handle}/follow":     "Follow",
	"POST /m/{handle}/unfollow":   "Unfollow",
	"POST /t/{topic}/follow":      "Follow",
	"POST /t/{topic}/unfollow":    "Unfollow",
	"POST /footprints/seen":       "Mark all as seen",
	"POST /signup":                "Sign up",
	"POST /login":                 "Log in",
	"POST /logout":                "Log out",
	"POST /settings/profile":      "Save profile",
	"POST /settings/password":     "Change password",
	"POST /settings/session/end":  "Sign out",
	"POST /settings/sessions/end": "Sign out everywhere",
}

// Config is what a site is made of, for main to fill in:
//
//	site, err := web.New(web.Config{...})
//	server := &http.Server{Handler: site}
//	server.RegisterOnShutdown(site.Close)   // ends the streams of /live
type Config struct {
	Keys        [][]byte // sign the cookies of sessions, the first one new ones: 32 random bytes each
	Development bool     // each page tells its cost, and cookies travel without TLS
	Tenant      string   // the prefix of all keys, to be shown under the hood
}

var _ http.Handler = (*http.ServeMux)(nil)
