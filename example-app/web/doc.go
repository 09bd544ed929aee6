// Package web is what visitors of the sample app see: its pages, and the forms
// that change something. routes.go is the one table of all there is; each of
// its handlers is a method of Site in a file named for its page; outcome.go is
// the one table from an error to a status. The markup is in package pages, what
// may be done and how it is stored in package ashiato.
//
// # A look is a look
//
// No GET changes anything but two counts: reading a page counts a view, and
// looking at a profile leaves a footprint. Both are what the visit itself is,
// and no other site can do them in a visitor's name: only a document that the
// visitor went to counts, not an image, a frame or a prefetch, and the cookie is
// SameSite=Lax, so what another site embeds comes without it.
package web
