//go:build !race

package proof

// race says that the race detector is on.
const race = false
