//go:build race

package proof

// Race reports whether the race detector is on.
const Race = true
