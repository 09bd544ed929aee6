package kv

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
)

// Engine opens the stores whose URLs begin with one of its schemes, for package kvopen. Each
// backend that uses servers has one.
type Engine []Scheme

// Scheme is one kind of store that a URL can name.
type Scheme struct {
	Name string // the start of the URL, without the colon
	Form string // the form of its URLs, for error messages

	// Open opens a store. rest is the part of the URL between the colon and the question mark,
	// options the part after it. Errors name the bad part or the reason, and show no password.
	Open func(ctx context.Context, rest string, options url.Values) (Store, error)
}

// With returns the engine with the value of an option for URLs that do not give it, such as
// rediskv.Engine.With("near", "64MB").
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

// Finding is one result of checking a store's configuration.
type Finding struct {
	Is   Verdict
	Text string // the setting and, if it hurts, the remedy
}

// Verdict rates a Finding.
type Verdict string

const (
	Fine    Verdict = "ok"
	Hurts   Verdict = "warning"
	Unknown Verdict = "unknown" // it could not be checked
)

// Find returns a Finding with the formatted text.
func Find(is Verdict, format string, args ...any) Finding {
	return Finding{is, fmt.Sprintf(format, args...)}
}
