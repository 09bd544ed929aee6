// Package pages has the markup of the sample app's pages, their words and their
// addresses. A page takes what package ashiato returns, and shows it with the components
// of package templates. Package web serves them.
package pages

//go:generate go tool templ generate -include-version=false -log-level=error
