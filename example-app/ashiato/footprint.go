package ashiato

import (
	"context"
	"math"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// Footprint is the latest visit of a guest to a profile.
type Footprint struct {
	Guest *Member // nil if they are gone
	At    time.Time
	New   bool // since the owner last looked
}

// Visit leaves a footprint of who on the profile of owner. A profile has one of each guest, and
// none of its owner or of "".
func (s *Site) Visit(ctx context.Context, who, owner string) error {
	if who == "" || who == owner {
		return nil
	}
	return s.Models.Visits.Push(kvmodel.Relaxed(ctx), Visit{Owner: owner, Guest: who, At: s.now()})
}

// Footprints returns the footprints on the profile of who, newest first: as many as Visit keeps,
// for as long as it keeps them.
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

// Looked notes that who has seen their footprints up to the time at: these are no longer new. A
// time before that of an earlier call changes nothing.
func (s *Site) Looked(ctx context.Context, who string, at time.Time) error {
	_, err := s.Models.Members.Update(ctx, who, func(m *Member) error {
		if at.After(m.Looked) {
			m.Looked = at.UTC()
		}
		return nil
	})
	return err
}
