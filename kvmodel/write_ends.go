package kvmodel

import (
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
)

// When the expiry of a record changes, its entries at unchanged places have the old one. They exist
// until then, so they may get the new expiry after the commit, if that is soon enough. Otherwise A1
// makes them again.

// planEnds decides, in the moves of p, when the entries at unchanged places get the new expiry.
func (c *change) planEnds(p *plan) {
	if p.value == nil {
		return
	}
	moved := p.rec.Envelope.Live() && p.env.Expires != p.rec.Envelope.Expires
	later := moved && c.endsCanWait(p)
	for i, mv := range p.moves {
		stays := plug.Without(mv.Is, mv.Gained)
		switch tried := c.ends && placesOf(c.touched, c.indexes[i].Name()) != nil; {
		case moved && later && !tried:
			mv.Renewed = stays
		case moved || tried: // An earlier try may have given them another expiry.
			mv.Gained, mv.Had = mv.Is, stays
		}
	}
}

// endsCanWait reports whether the existing entries of p's record last long enough to get the new
// expiry after the commit. They may outlive the record.
func (c *change) endsCanWait(p *plan) bool {
	was, ends := p.rec.Envelope.Ends(), p.env.Ends()
	sooner := was.IsZero() || !ends.IsZero() && ends.Before(was)
	return sooner || was.Sub(c.db.now()) > times.Renewed
}

// enters reports whether A1 has new entries to make for p.
func (p *plan) enters() bool {
	return slices.ContainsFunc(p.moves, func(mv *plug.Move) bool { return mv != nil && len(mv.Gained) > 0 })
}

// isOverdue reports whether entries due a new expiry after the commit of p, which was age ago, may
// have reached the old one.
func (p *plan) isOverdue(age time.Duration) bool {
	return age > times.Change && slices.ContainsFunc(p.moves, func(mv *plug.Move) bool { return mv != nil && len(mv.Renewed) > 0 })
}
