package write

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The edit may change the value in place.
type snapshot struct {
	live     bool
	body     []byte
	places   [][]string
	revision int64
	created  time.Time
	updated  time.Time
}

func (c *change) snapshot(v plug.Record) (b snapshot, err error) {
	b.places = make([][]string, len(c.indexes))
	if v == nil {
		return b, nil
	}
	b.live = true
	for i, index := range c.indexes {
		b.places[i] = index.Places(v)
	}
	f := c.Schema(v)
	b.revision, b.created, b.updated = core.Value(f.Revision), core.Value(f.Created), core.Value(f.Updated)
	b.body, err = c.Codec.Append(nil, v)
	return b, err
}

// plan returns nil if nothing changes.
func (c *change) plan(rec *plug.Seen) (*plan, error) {
	if c.Only != nil && !c.Only(rec) {
		return nil, errUnchanged
	}
	was, err := c.snapshot(rec.Value)
	if err != nil {
		return nil, err
	}
	v, err := c.Apply(rec.Value)
	if err != nil {
		return nil, err
	}
	if v == nil && !was.live && !rec.Damaged() {
		return nil, kv.ErrNotFound
	}
	if c.Numbers != nil && c.next == nil && rec.Version == 0 {
		return nil, fmt.Errorf("%w: only Create assigns numbers", plug.ErrInvalid)
	}
	if v != nil {
		if !c.touches {
			if err := limits(c.Model, v); err != nil {
				return nil, err
			}
		}
		if same, err := c.fillIn(rec, was, v); err != nil || same {
			return nil, err
		}
	}
	p := &plan{rec: rec, value: v, created: v != nil && !was.live}
	if p.env, err = c.nextEnvelope(rec, v); err != nil {
		return nil, err
	}
	c.planMoves(p, was)
	if c.History > 0 {
		c.numberRevision(p)
	}
	return p, nil
}

// fillIn sets the fields that the write path maintains, and the counters, which no edit changes.
func (c *change) fillIn(rec *plug.Seen, was snapshot, v plug.Record) (same bool, err error) {
	f := c.Schema(v)
	now := c.Db.Now().UTC()
	if !was.live {
		if was.created = core.Value(f.Created); was.created.IsZero() {
			was.created = now
		}
		was.revision = int64(rec.Rev) // no version repeats, so that an old one is recognized
	}
	core.Set(f.Revision, was.revision)
	core.Set(f.Created, was.created)
	core.Set(f.Updated, was.updated)
	if was.live {
		if err := c.SetCounters(c.ID, v, rec.Counts); err != nil && !wire.IsCorrupt(err) {
			return false, err
		}
		body, err := c.Codec.Append(nil, v)
		if err != nil || bytes.Equal(body, was.body) {
			return err == nil, err
		}
	}
	if !c.touches {
		core.Set(f.Revision, was.revision+1)
		core.Set(f.Updated, now)
	}
	return false, core.Validate(v)
}

func (c *change) nextEnvelope(rec *plug.Seen, v plug.Record) (*envelope.Envelope, error) {
	env := &envelope.Envelope{Model: c.Version, Rev: max(rec.Rev, c.maxRev, c.Uncleaned.Past(c.ID)) + 1, Deleted: v == nil}
	if !rec.Envelope.Live() && v != nil {
		// A record created again after its tombstone has expired needs a higher rev than anything
		// ever stored for its id.
		env.Rev = max(env.Rev, uint64(c.Db.Now().UnixMilli()))
	}
	if env.Rev > envelope.MaxRev {
		return nil, fmt.Errorf("%w: rev %d", codec.ErrCorrupt, env.Rev)
	}
	env.AddTry(rec.Envelope, c.nonce)
	if v == nil {
		c.markChildren(env, rec)
		return env, nil
	}
	if rec.Envelope.Live() {
		env.CopyMarks(rec.Envelope)
		// an older release that rewrites a newer record keeps its version
		env.Model = max(c.Version, rec.Envelope.Model)
	}
	if at := c.Schema(v).Expires; at != nil && !at.IsZero() {
		if err := checkExpiry(c.Model, *at); err != nil {
			return nil, err
		}
		env.Expires = at.UnixMilli()
	}
	var err error
	env.Body, err = c.EncodeBody(rec.Envelope, v)
	return env, err
}

func checkExpiry(m *core.Model, at time.Time) error {
	switch now := m.Db.Now(); {
	case !at.After(now):
		return fmt.Errorf("%w: it expires at %v, which is past", plug.ErrInvalid, at.UTC())
	case at.Sub(now) > kv.MaxTTL:
		return fmt.Errorf("%w: it expires at %v, which is more than %v ahead", plug.ErrInvalid, at.UTC(), kv.MaxTTL)
	}
	return nil
}

func (c *change) planMoves(p *plan, old snapshot) {
	p.moves = make([]*plug.Move, len(c.indexes))
	room := make([]plug.Move, len(c.indexes))
	if c.added == nil {
		c.added = make([]plug.Added, len(c.indexes))
	}
	stands := p.stands()
	for i, index := range c.indexes {
		was, is := old.places[i], core.Places(index, p.value)
		mv := &room[i]
		*mv = plug.Move{
			ID: c.ID, Base: p.rec.Rev, Rev: p.env.Rev, Ends: p.env.Ends(), Stands: stands,
			Gained: plug.Without(is, was), Lost: plug.Without(was, is), Was: was, Is: is,
			Mark: p.rec.Envelope.Mark(index.Name()), Began: c.began, Added: &c.added[i],
			New: c.Made && p.rec.Version == 0,
		}
		for _, stale := range [][]string{core.PlacesOf(c.touched, index.Name()), core.PlacesOf(core.Lost(p.rec), index.Name())} {
			mv.Lost = append(mv.Lost, plug.Without(plug.Without(stale, is), mv.Lost)...)
		}
		p.moves[i] = mv
	}
	c.planEnds(p)
	c.planTouched(p)
}

func (c *change) planTouched(p *plan) {
	for i, mv := range p.moves {
		t := envelope.Touched{Index: c.indexes[i].Name(), Places: slices.Concat(mv.Gained, mv.Renewed, mv.Lost)}
		// Additions of an earlier try are taken back, even if the record is there now.
		t.Places = append(t.Places, plug.Without(mv.Added.Places(), t.Places)...)
		if len(t.Places) == 0 {
			p.moves[i] = nil
			continue
		}
		p.touched = append(p.touched, t)
		if p.value == nil {
			p.env.Lost = append(p.env.Lost, t)
		}
	}
}

// stands returns the later of the old and the new expiry; zero: never.
func (p *plan) stands() time.Time {
	was, ends := p.rec.Envelope.Ends(), p.env.Ends()
	if p.rec.Envelope.Live() && (was.IsZero() || was.After(ends)) && !ends.IsZero() {
		return was
	}
	return ends
}

func limits(m *core.Model, v plug.Record) error {
	for _, index := range m.Indexes() {
		if err := index.Limit(v); err != nil {
			return err
		}
	}
	return nil
}

// When an expiry changes, the entries at unchanged places have the old one. They exist until then,
// so they may get the new one after the commit, if that is soon enough. Otherwise A1 makes them
// again.

func (c *change) planEnds(p *plan) {
	if p.value == nil {
		return
	}
	moved := p.rec.Envelope.Live() && p.env.Expires != p.rec.Envelope.Expires
	later := moved && c.endsCanWait(p)
	for i, mv := range p.moves {
		stays := plug.Without(mv.Is, mv.Gained)
		switch tried := c.Ends && core.PlacesOf(c.touched, c.indexes[i].Name()) != nil; {
		case moved && later && !tried:
			mv.Renewed = stays
		case moved || tried: // An earlier try may have given them another expiry.
			mv.Gained = mv.Is
		}
	}
}

func (c *change) endsCanWait(p *plan) bool {
	was, ends := p.rec.Envelope.Ends(), p.env.Ends()
	sooner := was.IsZero() || !ends.IsZero() && ends.Before(was)
	return sooner || was.Sub(c.Db.Now()) > times.Renewed
}

func (p *plan) enters() bool {
	return slices.ContainsFunc(p.moves, func(mv *plug.Move) bool { return mv != nil && len(mv.Gained) > 0 })
}

// isOverdue reports whether entries that get a new expiry after the commit, age ago, may have
// reached the old one.
func (p *plan) isOverdue(age time.Duration) bool {
	return age > times.Change && slices.ContainsFunc(p.moves, func(mv *plug.Move) bool { return mv != nil && len(mv.Renewed) > 0 })
}

func (c *change) numberRevision(p *plan) {
	n, _ := binary.Uvarint(p.rec.Envelope.Mark(core.HistoryMark))
	p.number = int64(n) + 1
	p.env.SetMark(core.HistoryMark, binary.AppendUvarint(nil, uint64(p.number)))
}

func (c *change) markChildren(env *envelope.Envelope, rec *plug.Seen) {
	if len(c.Children) > 0 && (rec.Envelope.Live() || rec.Damaged()) {
		env.SetMark(core.ChildrenMark, binary.AppendUvarint(nil, uint64(c.Db.Now().UnixMilli())))
	}
}
