package web

import "github.com/a-h/templ"

// answer is a page, or the path to redirect to.
type answer struct {
	to     string // a redirect if not empty; the other fields are then empty
	status int    // 0 is 200
	title  string
	here   string // this page's address in the main navigation
	query  string // in the search field
	slug   string // of the page it shows, which is marked under the hood
	live   bool   // whether it needs the script
	bare   bool   // the body is all, without the frame
	body   templ.Component
}
