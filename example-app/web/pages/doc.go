// Package pages has the markup of the sample app's pages: a frame, and the pages that
// go into it. They take plain values and components of package templates. Package web
// fills them in.
package pages

//go:generate go tool templ generate -include-version=false -log-level=error
