// Package pages is the markup of the sample app's pages: a frame, and what goes
// into it. They take plain values and parts from package templates; what is in
// them is found out by package web.
package pages

//go:generate go tool templ generate -include-version=false -log-level=error
