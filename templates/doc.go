// Package templates holds the parts of Ashiato's pages, as templ components
// that take plain values: words, numbers, addresses. A component that needs a
// record belongs to the app.
//
// Most components are structs: fill in what there is, leave out the rest, and
// write it into a page with @templates.Pager{...}. Those that stand around
// other markup are templ functions with children: Card. Each file of testdata
// shows what one of them writes; TestGallery_ShowsEveryComponent puts all of
// them on one page to look at.
//
// What all of them keep true:
//
//   - Text is escaped, and what people wrote stands in a bdi element, so that no
//     control character of theirs turns the words around it.
//   - An address that is not http, https, mailto, tel, ftp or relative is not
//     written.
//   - There is no style attribute, script or request to anywhere: lengths are
//     attributes of SVG, all else is in the one stylesheet, so the strictest
//     content policy holds.
//   - Nothing is told by colour alone, and everything works from the keyboard.
package templates

//go:generate go tool templ generate -include-version=false -log-level=error
