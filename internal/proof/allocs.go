package proof

import "testing"

// Allocs returns the number of allocations in a call of f, like testing.AllocsPerRun. Under the
// race detector, which allocates too, it calls f and returns 0.
func Allocs(runs int, f func()) float64 {
	allocs := testing.AllocsPerRun(runs, f)
	if race {
		return 0
	}
	return allocs
}
