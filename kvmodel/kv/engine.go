package kv

import (
	"context"
	"maps"
	"net/url"
	"slices"
)

// Engine opens the stores whose URLs begin with one of its schemes. A program hands the
// engines that it links to package kvopen; a backend on servers has one.
type Engine []Scheme

// Scheme is one kind of store that a URL can name.
type Scheme struct {
	Name string // what the URL begins with, without the colon
	Form string // what its URLs look like, for error messages

	// Open opens the store whose URL has rest between the colon and a question mark, and
	// options after it. Errors say what is wrong with these, or why the store could not
	// be opened, and show no password.
	Open func(ctx context.Context, rest string, options url.Values) (Store, error)
}

// With returns the engine with a value of an option for URLs that do not give it, such as
// rediskv.Engine.With("near", "64MB") for a site.
func (e Engine) With(option, value string) Engine {
	with := slices.Clone(e)
	for i, s := range e {
		with[i].Open = func(ctx context.Context, rest string, options url.Values) (Store, error) {
			if !options.Has(option) {
				given := options
				options = url.Values{option: {value}}
				maps.Copy(options, given)
			}
			return s.Open(ctx, rest, options)
		}
	}
	return with
}

// OpenOption makes an Engine an option of kvopen.Open.
func (Engine) OpenOption() {}
