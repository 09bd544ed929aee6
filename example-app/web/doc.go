// Package web is what visitors see. routes.go lists every page and form. Each page has a file
// for its handlers, methods of Site that ask package ashiato, and one for its markup, which shows
// what they get with the components of package templates. To write one, read profile.go, which
// shows a page, and then page.go, which takes a form. outcome.go maps errors to statuses and
// messages.
//
// # What a GET changes
//
// A GET changes nothing, with two exceptions: viewing a page counts a view, and
// viewing a profile leaves a footprint. Another site cannot cause either in a
// visitor's name. Only a document that the visitor navigated to counts, not an
// image, a frame or a prefetch. And the cookie is SameSite=Lax, so requests for
// what another site embeds do not carry it.
package web

//go:generate go tool templ generate -include-version=false -log-level=error
