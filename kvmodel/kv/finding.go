package kv

import "fmt"

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
