package ranking

import "testing"

// SmallWindows makes 300 changes too many to wait during a test.
func SmallWindows(t *testing.T) {
	was := windowMost
	windowMost = 300
	t.Cleanup(func() { windowMost = was })
}

// SmallLeaves makes leaves hold four entries during a test.
func SmallLeaves(t *testing.T) {
	leafLimit = 4
	t.Cleanup(func() { leafLimit = 0 })
}
