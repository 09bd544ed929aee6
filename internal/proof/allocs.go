package proof

import "testing"

// Allocs returns how many allocations a call of f makes, as testing.AllocsPerRun does. Under
// the race detector, which makes some itself, it calls f and returns 0.
func Allocs(runs int, f func()) float64 {
	allocs := testing.AllocsPerRun(runs, f)
	if race {
		return 0
	}
	return allocs
}
