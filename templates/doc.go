// Package templates holds the parts of Ashiato's pages, as templ components that take plain values:
// words, numbers, addresses. A component that needs a record belongs to the app.
//
// Most components are structs: fill in the fields you need, and write the struct into a page with
// @templates.Pager{...}. Components around other markup, such as Card, are templ functions with
// children. Each file in testdata shows the output of a component; TestGallery_ShowsEveryComponent
// puts all of them on one page.
//
// All components keep these promises:
//
//   - They escape text, and put user input into a bdi element, so its control characters cannot
//     reverse the words around it.
//   - They only write addresses that are http, https, mailto, tel, ftp or relative.
//   - They use no style attributes, no scripts and no requests: lengths are SVG attributes, and the
//     rest is in the one stylesheet. So pages can have the strictest content security policy.
//   - They never rely on color alone, and all of them work with the keyboard.
package templates

//go:generate go tool templ generate -include-version=false -log-level=error
