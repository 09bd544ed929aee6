package ashiato

import (
	"context"
	"math"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// Footprint is the latest visit of a guest to a profile.
type Footprint struct {
	Guest *Member // nil if they have left
	At    time.Time
	New   bool // since the owner's last look
}

// Visit leaves a footprint of a guest on the profile of another member.
func (s *Site) Visit(ctx context.Context, who, owner string) error {
	if who == "" || who == owner {
		return nil
	}
	return s.Models.Visits.Push(kvmodel.Relaxed(ctx), Visit{Owner: owner, Guest: who, At: s.now()})
}

// Footprints returns the footprints on a profile, newest first.
func (s *Site) Footprints(ctx context.Context, who string) ([]Footprint, error) {
	var owner *Member
	var visits []Visit
	var guests map[string]*Member
	err := s.db.SideBySide(ctx, func(ctx context.Context) (err error) {
		owner, err = s.Models.Members.Get(ctx, who)
		return err
	}, func(ctx context.Context) (err error) {
		visits, err = s.Models.Visits.Latest(ctx, who, math.MaxInt)
		if err != nil {
			return err
		}
		guests, err = kvmodel.Load(ctx, s.Models.Members.Records, visits, func(v Visit) string { return v.Guest })
		return err
	})
	if err != nil {
		return nil, err
	}
	prints := make([]Footprint, len(visits))
	for i, v := range visits {
		prints[i] = Footprint{Guest: guests[v.Guest], At: v.At, New: v.At.After(owner.Looked)}
	}
	return prints, nil
}

// Looked marks the footprints up to at as seen.
func (s *Site) Looked(ctx context.Context, who string, at time.Time) error {
	_, err := s.Models.Members.Update(ctx, who, func(m *Member) error {
		if at.After(m.Looked) {
			m.Looked = at.UTC()
		}
		return nil
	})
	return err
}
