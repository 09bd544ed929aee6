//go:build !race

package proof

// race reports whether the race detector is on.
const race = false
