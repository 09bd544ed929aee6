package ashiato

import (
	"context"
	"math"
)

// Visitor is the data in the frame of every page.
type Visitor struct {
	Member *Member
	Unread int // unseen footprints, among the ones Visit keeps
}

// Visitor returns nil for "", without a trip, or ErrNotFound.
func (s *Site) Visitor(ctx context.Context, who string) (*Visitor, error) {
	if who == "" {
		return nil, nil
	}
	v := &Visitor{}
	var visits []Visit
	err := s.db.SideBySide(ctx, func(ctx context.Context) (err error) {
		v.Member, err = s.Models.Members.Get(ctx, who)
		return err
	}, func(ctx context.Context) (err error) {
		visits, err = s.Models.Visits.Latest(ctx, who, math.MaxInt)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, visit := range visits {
		if visit.At.After(v.Member.Looked) {
			v.Unread++
		}
	}
	return v, nil
}

// Profile is the page of a member.
type Profile struct {
	Member   *Member
	Followed bool // by the visitor
	Pages    Listing
}

// Profile returns a profile with pages from the cursor on, and leaves no footprint. It returns
// ErrNotFound or ErrBadCursor.
func (s *Site) Profile(ctx context.Context, who, handle, cursor string) (*Profile, error) {
	m, err := s.Find(ctx, handle)
	if err != nil {
		return nil, err
	}
	p := &Profile{Member: m}
	err = s.db.SideBySide(ctx, func(ctx context.Context) error {
		page, err := s.Models.Pages.NewestByAuthor.Of(m.ID).Page(ctx, cursor, pageSize)
		p.Pages = listingBy(page, map[string]*Member{m.ID: m})
		return err
	}, func(ctx context.Context) (err error) {
		p.Followed, err = s.follows(ctx, who, m.ID)
		return err
	})
	return p, err
}

// Find returns the member with that handle, or ErrNotFound.
func (s *Site) Find(ctx context.Context, handle string) (*Member, error) {
	return s.Models.Members.ByHandle.Find(ctx, normal(handle))
}
