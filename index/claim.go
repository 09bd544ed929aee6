package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// claim is what stands under the key of a value.
type claim struct {
	owner   string // id text; "" if there is no claim
	base    uint64 // the owner's rev when it claimed
	version kv.Version
}

var claimKey = kv.NewClass("u", 3) // model, index, value text

func (u *Unique[T, V]) key(place string) string {
	return claimKey.KeyOfText([]string{u.host.Model(), u.spec.Name}, place)
}

// claim reads the claim at place.
func (u *Unique[T, V]) claim(ctx context.Context, s kv.Store, place string) (claim, error) {
	r, err := kv.One(ctx, s, kv.OpGet(u.key(place)))
	if errors.Is(err, kv.ErrNotFound) {
		return claim{}, nil
	}
	if err != nil {
		return claim{}, err
	}
	c := claim{version: r.Version}
	base, n := binary.Uvarint(r.Value)
	if n <= 0 || n == len(r.Value) {
		return c, fmt.Errorf("%w: claim %q", kvmodel.ErrCorrupt, r.Value)
	}
	c.base, c.owner = base, string(r.Value[n:])
	return c, nil
}

func (c claim) encode() []byte {
	return append(binary.AppendUvarint(nil, c.base), c.owner...)
}

// takeTries bounds how many times a change tries to claim a value that others
// keep claiming and releasing.
const takeTries = 8

// take claims place for the record of m, or returns a TakenError if another
// record holds it. The steps are those of protocol UNIQUE: U2 and U3.
func (u *Unique[T, V]) take(ctx context.Context, s kv.Store, m *plug.Move, place string) error {
	mine := claim{owner: m.ID, base: m.Base}
	for range takeTries {
		_, err := kv.One(ctx, s, kv.OpAdd(u.key(place), mine.encode()).For(claimTTL(m)))
		if err == nil {
			return nil
		}
		// After an unclear add the claim may be there; then it is mine.
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

// takeOver is U3: it reads the claim that stands at place and replaces it if it
// may. done is false if the claim has changed in between.
func (u *Unique[T, V]) takeOver(ctx context.Context, s kv.Store, m *plug.Move, place string) (done bool, err error) {
	c, err := u.claim(ctx, s, place)
	if err != nil || c.owner == "" {
		return false, err
	}
	if c.owner == m.ID {
		if c.base > m.Base {
			// A later change of the same record has claimed it, so the record has
			// moved on.
			return false, kv.ErrConflict
		}
		return u.replace(ctx, s, m, place, c)
	}
	if free, err := u.isFree(ctx, s, c, place); !free || err != nil {
		return false, err
	}
	return u.replace(ctx, s, m, place, c)
}

// isFree reports whether the claim c of another record is dead. It kills a pending
// claim with a fence, which makes the claim's change fail. A live claim is a
// TakenError.
func (u *Unique[T, V]) isFree(ctx context.Context, s kv.Store, c claim, place string) (bool, error) {
	recs, err := u.host.See(ctx, s, c.owner)
	if err != nil {
		return false, err
	}
	owner := recs[0]
	if owner.Holds(place) {
		return false, u.taken(place, owner.ID)
	}
	if owner.Rev != c.base {
		return true, nil
	}
	err = u.host.Fence(ctx, s, owner)
	if errors.Is(err, kv.ErrConflict) || errors.Is(err, kv.ErrUnclear) {
		return false, nil
	}
	return err == nil, err
}

func (u *Unique[T, V]) taken(place, owner string) error {
	value := place
	if v, err := u.spec.Key.Parse(place); err == nil {
		value = fmt.Sprint(v)
	}
	return &kvmodel.TakenError{Model: u.host.Model(), Index: u.spec.Name, Fields: u.spec.Fields, Value: value, Owner: owner}
}

// replace swaps c for m's claim.
func (u *Unique[T, V]) replace(ctx context.Context, s kv.Store, m *plug.Move, place string, c claim) (bool, error) {
	mine := claim{owner: m.ID, base: m.Base}
	_, err := kv.One(ctx, s, kv.OpSwap(u.key(place), c.version, mine.encode()).For(claimTTL(m)))
	if kv.Raced(err) || errors.Is(err, kv.ErrUnclear) {
		return false, nil
	}
	return err == nil, err
}

// release removes the claim at place of the record with this id, if it is dead.
func (u *Unique[T, V]) release(ctx context.Context, s kv.Store, id, place string) error {
	u.remembered.drop(place)
	var c claim
	var recs []*plug.Seen[T]
	errs := kv.Together(ctx, s,
		func(s kv.Store) (err error) { c, err = u.claim(ctx, s, place); return err },
		func(s kv.Store) (err error) { recs, err = u.host.See(ctx, s, id); return err },
	)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	// The two were read side by side, so the claim may be newer than the record:
	// with a base above the record's rev it is not known to be dead.
	if c.owner != id || recs[0].Holds(place) || c.base >= recs[0].Rev {
		return nil
	}
	_, err := kv.One(ctx, s, kv.OpDrop(u.key(place), c.version))
	if kv.Raced(err) {
		return nil
	}
	return err
}

// claimTTL returns how long a claim for m stands: longer than the record, which
// must not lose its claim while it lives.
func claimTTL(m *plug.Move) time.Duration {
	if m.TTL == 0 {
		return 0
	}
	return min(m.TTL+time.Hour, kv.MaxTTL)
}
