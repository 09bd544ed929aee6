package ranking

import "testing"

// SmallLeaves makes leaves hold four entries during a test.
func SmallLeaves(t *testing.T) {
	leafLimit = 4
	t.Cleanup(func() { leafLimit = 0 })
}
