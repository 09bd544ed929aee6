package kvmodel

import (
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
)

// A record that gets another end has entries with the old one where it stays. They
// stand until then, so they may get the new one after the commit, if that is soon
// enough. Otherwise A1 makes them again.

// planEnds says in the moves of p when the entries of places where the record stays get its
// new end.
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
		case moved || tried: // An earlier try may have given them another end.
			mv.Gained, mv.Had = mv.Is, stays
		}
	}
}

// endsCanWait reports whether the entries of the record of p stand for long enough to get
// its new end after the commit: they may well stand longer than the record.
func (c *change) endsCanWait(p *plan) bool {
	was, ends := p.rec.Envelope.Ends(), p.env.Ends()
	sooner := was.IsZero() || !ends.IsZero() && ends.Before(was)
	return sooner || was.Sub(c.db.now()) > times.Renewed
}

// enters reports whether p has new entries for A1 to make.
func (p *plan) enters() bool {
	return slices.ContainsFunc(p.moves, func(mv *plug.Move) bool { return mv != nil && len(mv.Gained) > 0 })
}

// isOverdue reports whether entries that were to get a new end after the commit of p, which
// was so long ago, may have come to their old one.
func (p *plan) isOverdue(age time.Duration) bool {
	return age > times.Change && slices.ContainsFunc(p.moves, func(mv *plug.Move) bool { return mv != nil && len(mv.Renewed) > 0 })
}
