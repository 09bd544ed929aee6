package index

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

type claim struct {
	owner   string // "" if there is no claim
	base    uint64 // its rev when it claimed the value
	version kv.Version
	broken  bool // unreadable

	recalled bool // not found in memory, which may be old
}

var claimKey = kv.NewClass("u", 3) // model, index, value text

func (u *unique) key(place string) string {
	return claimKey.KeyOfText([]string{u.host.Model(), u.index}, plug.Bare(place))
}

func (u *unique) claim(ctx context.Context, s kv.Store, place string) (claim, error) {
	return u.claimUnder(ctx, s, u.key(place))
}

func (u *unique) claimUnder(ctx context.Context, s kv.Store, key string) (claim, error) {
	results, err := kv.GetAll(ctx, s, key)
	if err != nil {
		return claim{}, err
	}
	return claimIn(key, results[0])
}

func claimIn(key string, r kv.Result) (claim, error) {
	if r.Err != nil {
		return claim{recalled: r.Near}, nil
	}
	c := claim{version: r.Version}
	if !c.decode(r.Value) {
		return claim{version: c.version}, wire.Corrupt(key, fmt.Errorf("%w: claim %q", kvmodel.ErrCorrupt, r.Value))
	}
	return c, nil
}

func (c claim) encode() []byte {
	b := binary.AppendUvarint(make([]byte, 0, binary.MaxVarintLen64+len(c.owner)+frame.Sum), c.base)
	return frame.Whole(append(b, c.owner...))
}

func (c *claim) decode(value []byte) bool {
	payload, err := frame.Open(value)
	base, n := binary.Uvarint(payload)
	if err != nil || n <= 0 || n == len(payload) {
		return false
	}
	c.base, c.owner = base, string(payload[n:])
	return true
}

const takeTries = 8

// take claims place for the record of m, or returns a TakenError: U2 and U3.
func (u *unique) take(ctx context.Context, s kv.Store, m *plug.Move, place string) error {
	now := u.host.DB().Now()
	if hasEnded(place, now) {
		return nil
	}
	mine := claim{owner: m.ID, base: m.Base}
	for range takeTries {
		_, err := kv.One(ctx, kv.Chained(s, m.Chain), kv.OpAdd(u.key(place), mine.encode()).For(claimTTL(m.Stands, place, now)))
		if err == nil {
			return nil
		}
		if errors.Is(err, kv.ErrSkipped) {
			continue
		}
		// after an unclear add the claim may exist, as this change's own
		if !errors.Is(err, kv.ErrExists) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
		done, err := u.takeOver(ctx, s, m, place)
		if done || err != nil {
			return err
		}
	}
	return kv.ErrConflict
}

func (u *unique) takeOver(ctx context.Context, s kv.Store, m *plug.Move, place string) (done bool, err error) {
	c, err := u.claim(ctx, s, place)
	if wire.IsCorrupt(err) && slices.Contains(m.Was, place) {
		// the record holds the value, so the damaged claim was its own
		return u.replace(ctx, s, m, place, c)
	}
	if err != nil || c.owner == "" {
		return false, err
	}
	if c.owner == m.ID {
		if c.base > m.Base {
			return false, kv.ErrConflict
		}
		return u.replace(ctx, s, m, place, c)
	}
	if free, err := u.isFree(ctx, s, c, place); !free || err != nil {
		return false, err
	}
	return u.replace(ctx, s, m, place, c)
}

// isFree reports whether the claim of another record is dead. It fences a pending one, so that its
// change fails. For a live one it returns a TakenError.
func (u *unique) isFree(ctx context.Context, s kv.Store, c claim, place string) (bool, error) {
	recs, err := u.host.See(ctx, s, c.owner)
	if err != nil {
		return false, err
	}
	owner := recs[0]
	if u.holds(owner, place) {
		return false, u.taken(place, owner.ID)
	}
	if c.judge(owner, false) == plug.Stale {
		return true, nil
	}
	err = u.host.Fence(ctx, s, owner)
	if errors.Is(err, kv.ErrConflict) || errors.Is(err, kv.ErrUnclear) {
		return false, nil
	}
	return err == nil, err
}

// The change that claimed the value has a rev above the base. If the record that it has read was
// lost, it cannot commit.
func (c claim) judge(owner *plug.Seen, holds bool) plug.Verdict {
	if owner.Rev < c.base {
		return plug.Stale
	}
	return plug.Judge(c.base+1, owner.Rev, holds, 0)
}

func (u *unique) taken(place, owner string) error {
	place = plug.Bare(place)
	value := place
	if v, err := u.parse(place); err == nil {
		value = fmt.Sprint(v)
	}
	return &kvmodel.TakenError{
		Model: u.host.Model(), Index: u.index, Fields: u.fields, Value: value, ID: owner,
		Private: plug.IsOver(u.def, u.host.Private()),
	}
}

func (u *unique) replace(ctx context.Context, s kv.Store, m *plug.Move, place string, c claim) (bool, error) {
	mine := claim{owner: m.ID, base: m.Base}
	ttl := claimTTL(m.Stands, place, u.host.DB().Now())
	_, err := kv.One(ctx, s, kv.OpSwap(u.key(place), c.version, mine.encode()).For(ttl))
	if kv.Raced(err) || errors.Is(err, kv.ErrUnclear) {
		return false, nil
	}
	return err == nil, err
}

// conformAll makes the claims at places agree with the record id: live ones get its lifetime, dead
// ones go.
func (u *unique) conformAll(ctx context.Context, s kv.Store, id string, places []string) error {
	places = plug.Bares(places)
	for try := 0; len(places) > 0; try++ {
		if try == takeTries {
			return u.failure(places[0], kv.ErrConflict)
		}
		claims, rec, errs := u.claims(ctx, s, id, places)
		noted, raced := notedAt(rec.Places), make([]bool, len(places))
		err := u.atEach(ctx, s, places, func(s kv.Store, i int) error {
			if errs[i] == nil {
				raced[i], errs[i] = u.conform(ctx, s, claims[i], rec, places[i], noted[places[i]])
			}
			return errs[i]
		})
		if err != nil {
			return err
		}
		var again []string
		for i, place := range places {
			if raced[i] {
				again = append(again, place)
			}
		}
		places = again
	}
	return nil
}

func (u *unique) claims(ctx context.Context, s kv.Store, id string, places []string) (claims []claim, rec *plug.Seen, errs []error) {
	claims, rec = make([]claim, len(places)), new(plug.Seen)
	var works []func(kv.Store) error
	for i, place := range places {
		works = append(works, func(s kv.Store) (err error) {
			if claims[i], err = u.claim(ctx, s, place); wire.IsCorrupt(err) {
				err, claims[i].broken = nil, true
			}
			return err
		})
	}
	works = append(works, func(s kv.Store) error {
		recs, err := u.host.See(ctx, s, id)
		if err == nil {
			rec = recs[0]
		}
		return err
	})
	all := kv.Together(ctx, s, works...)
	for _, err := range all[:len(places)] {
		errs = append(errs, cmp.Or(all[len(places)], err))
	}
	return claims, rec, errs
}

func (u *unique) conform(ctx context.Context, s kv.Store, c claim, rec *plug.Seen, place, noted string) (raced bool, err error) {
	if noted == "" {
		u.owners.Drop(place)
	}
	op, ok := u.conforming(c, rec, place, noted)
	if !ok {
		return false, nil
	}
	// the record may have changed meanwhile
	if _, err = kv.One(ctx, s, op); kv.Raced(err) || err == nil && c.owner == "" {
		return true, nil
	}
	return false, err
}

func (u *unique) conforming(c claim, rec *plug.Seen, place, noted string) (kv.Op, bool) {
	now := u.host.DB().Now()
	ended := noted != "" && hasEnded(noted, now)
	holds := noted != "" && !ended
	mine, ttl := claim{owner: rec.ID, base: rec.Rev}, claimTTL(rec.Expires(), noted, now)
	switch {
	case ended && !c.broken && c.owner == rec.ID && c.base <= rec.Rev:
		// a change of rec as read has this value already, so the claim is not its own
		return kv.OpDrop(u.key(place), c.version), true
	case c.broken && !holds:
		// it may belong to another record; a rebuild will find out
		return kv.Op{}, false
	case c.broken:
		return kv.OpSwap(u.key(place), c.version, mine.encode()).For(ttl), true
	case c.owner == "" && holds:
		return kv.OpAdd(u.key(place), mine.encode()).For(ttl), true
	case c.owner != rec.ID || rec.Rev < c.base:
		// both were read in the same trip, so the claim may be newer
		return kv.Op{}, false
	}
	switch c.judge(rec, holds) {
	case plug.Counts:
		// with the record's rev, no change that has read an older one can replace it
		return kv.OpSwap(u.key(place), c.version, mine.encode()).For(ttl), true
	case plug.Stale:
		return kv.OpDrop(u.key(place), c.version), true
	}
	// the pending change has given it a sufficient lifetime
	return kv.Op{}, false
}

func notedAt(places []string) map[string]string {
	noted := make(map[string]string, len(places))
	for _, place := range places {
		noted[plug.Bare(place)] = place
	}
	return noted
}

func (u *unique) holds(rec *plug.Seen, place string) bool {
	noted, ok := plug.At(rec.Places, plug.Bare(place))
	return ok && !hasEnded(noted, u.host.DB().Now())
}

func hasEnded(place string, now time.Time) bool {
	until, ok := untilOf(place)
	return ok && !now.Before(until)
}

func untilOf(place string) (time.Time, bool) {
	note := plug.NoteOf(place)
	if note == "" {
		return time.Time{}, false
	}
	ms, err := strconv.ParseInt(note, 10, 64)
	return time.UnixMilli(ms), err == nil
}

// claimTTL returns the lifetime of the claim of a record that expires at ends, 0: forever. It ends
// an hour after the record stops holding the value, which must not lose its claim.
func claimTTL(ends time.Time, place string, now time.Time) time.Duration {
	if until, ok := untilOf(place); ok {
		if ends.IsZero() || until.Before(ends) {
			ends = until
		}
		if ends.Sub(now) > kv.MaxTTL-time.Hour {
			return 0
		}
	}
	if ends.IsZero() {
		return 0
	}
	return min(max(ends.Sub(now), time.Second)+time.Hour, kv.MaxTTL)
}
