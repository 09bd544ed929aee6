package kvtest

import "testing"

// Check runs the case on stores of m.
func (c Case) Check(t testing.TB, m Maker) { c.check(t, m) }

// Seeds is how SimulateMany chooses what to run.
var Seeds = seeds
