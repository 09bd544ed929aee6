// Package web serves the pages and forms of the sample app. Two tables describe
// it: routes.go lists every page and form, and outcome.go maps errors to statuses
// and messages. Each handler is a method of Site, in a file named for its page: it asks
// package ashiato, which has the rules and the storage, and shows what it gets with
// package pages, which has the markup. To write one, read profile.go, which shows a page,
// and then comment.go, which takes a form.
//
// # What a GET changes
//
// A GET changes nothing, with two exceptions: viewing a page counts a view, and
// viewing a profile leaves a footprint. Another site cannot cause either in a
// visitor's name. Only a document that the visitor navigated to counts, not an
// image, a frame or a prefetch. And the cookie is SameSite=Lax, so requests for
// what another site embeds do not carry it.
package web
