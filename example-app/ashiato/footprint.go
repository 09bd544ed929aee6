package ashiato

import (
	"context"
	"time"
)

// Footprint is who has visited a profile; nil: they are gone.
type Footprint struct {
	Guest *Member
	At    time.Time
	New   bool // since the owner has looked last
}

// Visit leaves a footprint of who on the profile of the member with the id
// owner, once for each visitor. It leaves none of oneself or of "".
func (s *Site) Visit(ctx context.Context, who, owner string) error { panic("to follow") }

// Footprints returns who has visited the profile of who within 30 days, the last
// 100 at most, newest first.
func (s *Site) Footprints(ctx context.Context, who string) ([]Footprint, error) { panic("to follow") }

// Looked notes that who has looked at their footprints as far as they are from
// before at: those are not new any more.
func (s *Site) Looked(ctx context.Context, who string, at time.Time) error { panic("to follow") }
