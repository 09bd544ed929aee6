package ashiato

import (
	"context"
	"time"
)

// Limit is how often something may be done within a time.
type Limit struct {
	What  string // names the limit: "log-in of a handle"
	Times int64
	Per   time.Duration
}

// Allow counts one try by whoever it is under each of the limits, and returns a
// *TooManyError if one is used up. Tries at the same time, in any number of
// processes, never get more than there are.
func (s *Site) Allow(ctx context.Context, who string, limits ...Limit) error {
	panic("to follow")
}
