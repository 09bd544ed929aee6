package proof

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Must fails the test at once if err is not nil.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Done returns a function for the results of a call, which must not have failed.
func Done(t testing.TB) func(result any, err error) {
	return func(_ any, err error) {
		t.Helper()
		Must(t, err)
	}
}

// Ends returns a function for the results of a call, which must have failed with want.
func Ends(t testing.TB, want error) func(result any, err error) {
	return func(_ any, err error) {
		t.Helper()
		Is(t, err, want)
	}
}

// Equal fails the test unless got is want.
func Equal[V comparable](t testing.TB, got, want V, what string, args ...any) {
	t.Helper()
	if got == want {
		return
	}
	verb := "%v"
	if _, ok := any(got).(string); ok {
		verb = "%q"
	}
	t.Errorf("%s: got "+verb+", want "+verb, fmt.Sprintf(what, args...), got, want)
}

// Len fails the test unless got has n elements.
func Len[E any](t testing.TB, got []E, n int, what string) {
	t.Helper()
	if len(got) != n {
		t.Errorf("%s: want %d, got %d: %v", what, n, len(got), got)
	}
}

// Contains fails the test unless text contains part.
func Contains(t testing.TB, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("want %q in\n%s", part, text)
	}
}

// Is fails the test unless err is want.
func Is(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want %v", err, want)
	}
}

// NoDiff fails the test if diff, of package cmp, is not empty.
func NoDiff(t testing.TB, diff, what string, args ...any) {
	t.Helper()
	if diff != "" {
		t.Errorf("%s (-want +got)\n%s", fmt.Sprintf(what, args...), diff)
	}
}
