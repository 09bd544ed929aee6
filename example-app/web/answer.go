package web

import "github.com/a-h/templ"

// answer is a page, or the path of one to go to.
type answer struct {
	to     string // if not empty, all else is
	status int    // 0 is 200
	title  string
	here   string // the address in the main navigation that is this page's
	slug   string // of the page that it shows: the way to it is marked under the hood
	live   bool   // the script has something to do on it
	body   templ.Component
}
