package kv

import "fmt"

// Finding is something that was looked at in how a store is set up.
type Finding struct {
	Is   Verdict
	Text string // what it is, and if that hurts, what to do about it
}

// Verdict is how good a Finding is.
type Verdict string

const (
	Fine    Verdict = "ok"
	Hurts   Verdict = "warning"
	Unknown Verdict = "unknown" // it could not be looked at
)

// Find returns a Finding.
func Find(is Verdict, format string, args ...any) Finding {
	return Finding{is, fmt.Sprintf(format, args...)}
}
