package kvmodel

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// validator is a record type that checks whether a record may be stored.
type validator interface{ Validate() error }

// snapshot is the part of the old record that a change needs, taken before the edit changes the
// value in place.
type snapshot struct {
	live     bool
	body     []byte
	places   [][]string // by index
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
	f := c.schema(v)
	b.revision, b.created, b.updated = value(f.revision), value(f.created), value(f.updated)
	b.body, err = c.codec.Append(nil, v)
	return b, err
}

// plan returns the plan that turns rec into the record that the edit wants, or nil if nothing
// changes.
func (c *change) plan(rec *plug.Seen) (*plan, error) {
	if c.only != nil && !c.only(rec) {
		return nil, errUnchanged
	}
	was, err := c.snapshot(rec.Value)
	if err != nil {
		return nil, err
	}
	v, err := c.apply(rec.Value)
	if err != nil {
		return nil, err
	}
	if v == nil && !was.live && !rec.Damaged() {
		return nil, kv.ErrNotFound
	}
	if c.numbers != nil && c.next == nil && rec.Version == 0 {
		return nil, fmt.Errorf("%w: numbers are given in order, by Create", errInvalid)
	}
	if v != nil {
		if !c.touches {
			if err := c.limits(v); err != nil {
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
	if c.history > 0 {
		c.numberRevision(p)
	}
	return p, nil
}

// fillIn sets the fields of v that the write path maintains, and its counters, which no edit
// changes. It reports whether v is the same as before.
func (c *change) fillIn(rec *plug.Seen, was snapshot, v plug.Record) (same bool, err error) {
	f := c.schema(v)
	now := c.db.now().UTC()
	if !was.live {
		if was.created = value(f.created); was.created.IsZero() {
			was.created = now
		}
		was.revision = int64(rec.Rev) // no version repeats, so that an old one is recognized
	}
	set(f.revision, was.revision)
	set(f.created, was.created)
	set(f.updated, was.updated)
	if was.live {
		if err := c.setCounters(c.id, v, rec.Counts); err != nil && !wire.IsCorrupt(err) {
			return false, err
		}
		body, err := c.codec.Append(nil, v)
		if err != nil || bytes.Equal(body, was.body) {
			return err == nil, err
		}
	}
	if !c.touches {
		set(f.revision, was.revision+1)
		set(f.updated, now)
	}
	return false, validate(v)
}

func validate(v plug.Record) error {
	if v, ok := v.(validator); ok {
		if err := v.Validate(); err != nil {
			return fmt.Errorf("%w: %w", errInvalid, err)
		}
	}
	return nil
}

func set[V any](p *V, v V) {
	if p != nil {
		*p = v
	}
}

func value[V any](p *V) (v V) {
	if p != nil {
		v = *p
	}
	return v
}

// nextEnvelope returns the envelope that replaces the one in rec.
func (c *change) nextEnvelope(rec *plug.Seen, v plug.Record) (*envelope.Envelope, error) {
	env := &envelope.Envelope{Model: c.version, Rev: max(rec.Rev, c.maxRev, c.uncleaned.past(c.id)) + 1, Deleted: v == nil}
	if !rec.Envelope.Live() && v != nil {
		// A record created again after its tombstone has expired needs a higher rev than anything
		// ever stored for its id.
		env.Rev = max(env.Rev, uint64(c.db.now().UnixMilli()))
	}
	if env.Rev > envelope.MaxRev {
		return nil, fmt.Errorf("%w: rev %d", codec.ErrCorrupt, env.Rev)
	}
	env.Tries = envelope.AddTry(rec.Envelope, env.Rev, c.nonce)
	if v == nil {
		c.markChildren(env, rec)
		return env, nil
	}
	if rec.Envelope.Live() {
		env.Marks = slices.Clone(rec.Envelope.Marks)
		// an older release that rewrites a newer record keeps its version
		env.Model = max(c.version, rec.Envelope.Model)
	}
	if at := c.schema(v).expires; at != nil && !at.IsZero() {
		if err := c.checkExpiry(*at); err != nil {
			return nil, err
		}
		env.Expires = at.UnixMilli()
	}
	var err error
	env.Body, err = c.encodeBody(rec.Envelope, v)
	return env, err
}

func (m *model) checkExpiry(at time.Time) error {
	switch now := m.db.now(); {
	case !at.After(now):
		return fmt.Errorf("%w: it expires at %v, which is past", errInvalid, at.UTC())
	case at.Sub(now) > kv.MaxTTL:
		return fmt.Errorf("%w: it expires at %v, which is more than %v ahead", errInvalid, at.UTC(), kv.MaxTTL)
	}
	return nil
}

// planMoves sets the move of the change in each index.
func (c *change) planMoves(p *plan, old snapshot) {
	p.moves = make([]*plug.Move, len(c.indexes))
	if c.added == nil {
		c.added = make([]plug.Added, len(c.indexes))
	}
	ttl := c.ttl(p.env)
	stands := c.stands(p, ttl)
	for i, index := range c.indexes {
		was, is := old.places[i], places(index, p.value)
		mv := &plug.Move{
			ID: c.id, Base: p.rec.Rev, Rev: p.env.Rev, TTL: ttl, Stands: stands, Ends: p.env.Ends(),
			Gained: plug.Without(is, was), Lost: plug.Without(was, is), Was: was, Is: is,
			Mark: p.rec.Envelope.Mark(index.Name()), Began: c.began, Added: &c.added[i],
			New: c.made && p.rec.Version == 0,
		}
		for _, stale := range [][]string{placesOf(c.touched, index.Name()), placesOf(lost(p.rec), index.Name())} {
			mv.Lost = append(mv.Lost, plug.Without(plug.Without(stale, is), mv.Lost)...)
		}
		p.moves[i] = mv
	}
	c.planEnds(p)
	c.planTouched(p)
}

// planTouched sets the places that p touches, and drops the moves that touch none.
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

// stands returns how long the record of p may live: until the later of its old and its new expiry.
// ttl is its lifetime if p commits.
func (c *change) stands(p *plan, ttl time.Duration) time.Duration {
	if !p.rec.Envelope.Live() || ttl == 0 {
		return ttl
	}
	if old := c.ttl(p.rec.Envelope); old == 0 || old > ttl {
		return old
	}
	return ttl
}

func places(index plug.Index, v plug.Record) []string {
	if v == nil {
		return nil
	}
	return index.Places(v)
}

// placesOf returns the places of one index among all.
func placesOf(all []envelope.Touched, index string) []string {
	for _, t := range all {
		if t.Index == index {
			return t.Places
		}
	}
	return nil
}
