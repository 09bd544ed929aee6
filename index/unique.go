// Package index holds the index classes that look records up by value.
//
// [Unique] finds the one record that holds a value, and [Lists] all of them. A
// [Set] is such a list without records.
package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Unique is an index from a value to the one record that holds it. It keeps
// true that no two records hold the same value, whatever crashes.
//
// Under the key of each value stands a claim: the record that holds the value,
// or is about to, with the rev that the record had. A claim is live while its
// owner's record holds the value; pending while that record still has the
// claim's rev, since the change that made the claim may yet commit; and dead
// otherwise, and then anybody may take it over.
type Unique[T, V any] struct {
	spec       kvmodel.IndexSpec[T, V]
	host       plug.Host[T]
	remembered memory
}

var claimKey = kv.NewClass("u", 3) // model, index, value text

// NewUnique returns the index spec describes and plugs it into records.
func NewUnique[T any, K comparable, V any](records *kvmodel.Records[T, K], spec kvmodel.IndexSpec[T, V]) *Unique[T, V] {
	u := &Unique[T, V]{spec: spec}
	u.host = records.Plug(u)
	return u
}

// Find returns the record that holds v, or ErrNotFound. Two trips, or one
// where this process knows which record held it last.
func (u *Unique[T, V]) Find(ctx context.Context, v V) (*T, error) {
	found, err := u.FindMulti(ctx, []V{v})
	if err != nil {
		return nil, err
	}
	if found[0] == nil {
		return nil, u.failure(u.spec.Key.Text(v), kv.ErrNotFound)
	}
	return found[0], nil
}

// FindMulti returns the records that hold vs in their order, nil where there
// is none, in the trips of one Find.
func (u *Unique[T, V]) FindMulti(ctx context.Context, vs []V) ([]*T, error) {
	if err := u.host.Ready(ctx); err != nil {
		return nil, err
	}
	finds := make([]find[T], len(vs))
	works := make([]func(kv.Store) error, len(vs))
	for i, v := range vs {
		f := &finds[i]
		f.place = u.spec.Key.Text(v)
		works[i] = func(s kv.Store) error { return u.find(ctx, s, f) }
	}
	for i, err := range kv.Together(ctx, u.host.Store(), works...) {
		if err != nil {
			return nil, u.failure(finds[i].place, err)
		}
	}
	values := make([]*T, len(vs))
	for i := range finds {
		values[i] = finds[i].value
	}
	return values, nil
}

// find is one value to be found.
type find[T any] struct {
	place string
	value *T // the record that holds it
}

func (u *Unique[T, V]) find(ctx context.Context, s kv.Store, f *find[T]) error {
	if id, ok := u.remembered.get(f.place); ok {
		// A record that holds the value is the answer whatever the claim says.
		if done, err := u.look(ctx, s, f, id); done || err != nil {
			return err
		}
		u.remembered.drop(f.place)
	}
	c, err := u.claim(ctx, s, f.place)
	if err != nil || c.owner == "" {
		return err
	}
	done, err := u.look(ctx, s, f, c.owner)
	if done {
		u.remembered.put(f.place, c.owner)
	} else if err == nil {
		u.host.Meet(c.owner, f.place, 0)
	}
	return err
}

// look sets f's value if the record id holds it.
func (u *Unique[T, V]) look(ctx context.Context, s kv.Store, f *find[T], id string) (bool, error) {
	recs, err := u.host.See(ctx, s, id)
	if err != nil || !recs[0].Holds(f.place) {
		return false, err
	}
	f.value = recs[0].Value
	return true, nil
}

// Name returns the index's name.
func (u *Unique[T, V]) Name() string { return u.spec.Name }

// Def returns the index's definition.
func (u *Unique[T, V]) Def() string { return u.spec.Def }

// Places returns the texts of rec's values.
func (u *Unique[T, V]) Places(rec *T) []string { return u.spec.Places(rec) }

// Prepare claims the values the record is to hold.
func (u *Unique[T, V]) Prepare(ctx context.Context, s kv.Store, m *plug.Move) error {
	return u.atEach(ctx, s, m.Gained, func(s kv.Store, place string) error { return u.take(ctx, s, m, place) })
}

// Beside does nothing: a claim comes before the commit.
func (u *Unique[T, V]) Beside(context.Context, kv.Store, *plug.Move) error { return nil }

// After releases the values the record does not hold any more.
func (u *Unique[T, V]) After(ctx context.Context, s kv.Store, m *plug.Move) error {
	return u.atEach(ctx, s, m.Lost, func(s kv.Store, place string) error { return u.release(ctx, s, m.ID, place) })
}

// Repair releases what rec does not hold.
func (u *Unique[T, V]) Repair(ctx context.Context, s kv.Store, rec *plug.Seen[T], places []string) error {
	return u.atEach(ctx, s, places, func(s kv.Store, place string) error {
		if rec.Holds(place) {
			return nil
		}
		return u.release(ctx, s, rec.ID, place)
	})
}

// Check reports the values rec holds without a claim.
func (u *Unique[T, V]) Check(ctx context.Context, s kv.Store, rec *plug.Seen[T]) ([]string, error) {
	var wrong []string
	for _, place := range rec.Places {
		c, err := u.claim(ctx, s, place)
		if err != nil {
			return nil, err
		}
		if c.owner != rec.ID {
			wrong = append(wrong, fmt.Sprintf("%s.%s: %s holds %q, but the claim is of %q", u.host.Model(), u.spec.Name, rec.ID, place, c.owner))
		}
	}
	return wrong, nil
}

func (u *Unique[T, V]) atEach(ctx context.Context, s kv.Store, places []string, step func(kv.Store, string) error) error {
	return atEach(ctx, s, len(places),
		func(s kv.Store, i int) error { return step(s, places[i]) },
		func(i int, err error) error { return u.failure(places[i], err) })
}

func (u *Unique[T, V]) failure(place string, err error) error {
	var taken *kvmodel.TakenError
	if errors.As(err, &taken) {
		return err
	}
	return fmt.Errorf("%s.%s %q: %w", u.host.Model(), u.spec.Name, place, err)
}

func (u *Unique[T, V]) key(place string) string {
	return claimKey.KeyOfText([]string{u.host.Model(), u.spec.Name}, place)
}

// takeTries bounds how often one change goes after one value that others come
// and go with.
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

// takeOver is U3: it looks at the claim that stands at m's place and replaces
// it if that may be done. done is false if the claim has changed meanwhile.
func (u *Unique[T, V]) takeOver(ctx context.Context, s kv.Store, m *plug.Move, place string) (done bool, err error) {
	c, err := u.claim(ctx, s, place)
	if err != nil || c.owner == "" {
		return false, err
	}
	if c.owner == m.ID {
		if c.base > m.Base {
			// Another change of the same record has claimed it later, so the
			// record has moved on.
			return false, kv.ErrConflict
		}
		return u.replace(ctx, s, m, place, c)
	}
	if free, err := u.isFree(ctx, s, c, place); !free || err != nil {
		return false, err
	}
	return u.replace(ctx, s, m, place, c)
}

// isFree tells whether the claim c of another record is dead. A pending one is
// made so, by a fence that lets its change fail. A TakenError: it is live.
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

// replace puts m's claim in the place of c.
func (u *Unique[T, V]) replace(ctx context.Context, s kv.Store, m *plug.Move, place string, c claim) (bool, error) {
	mine := claim{owner: m.ID, base: m.Base}
	_, err := kv.One(ctx, s, kv.OpSwap(u.key(place), c.version, mine.encode()).For(claimTTL(m)))
	if gone(err) || errors.Is(err, kv.ErrUnclear) {
		return false, nil
	}
	return err == nil, err
}

// gone tells whether a compare failed because the item has changed.
func gone(err error) bool {
	return errors.Is(err, kv.ErrConflict) || errors.Is(err, kv.ErrNotFound)
}

// release removes the claim of the record id on place, if it is dead.
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
	// The two were read side by side, so the claim may be newer than the
	// record: at a base above the record's rev it is not known to be dead.
	if c.owner != id || recs[0].Holds(place) || c.base >= recs[0].Rev {
		return nil
	}
	_, err := kv.One(ctx, s, kv.OpDrop(u.key(place), c.version))
	if gone(err) {
		return nil
	}
	return err
}

// claim is what stands under the key of a value.
type claim struct {
	owner   string // id text; "" if there is no claim
	base    uint64 // the owner's rev when it claimed
	version kv.Version
}

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

// memory remembers which record held a value last, for some values.
type memory struct {
	mu  sync.Mutex
	ids map[string]string
}

const remembered = 4096

func (m *memory) get(place string) (string, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id, ok := m.ids[place]
	return id, ok
}

func (m *memory) put(place, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ids == nil {
		m.ids = make(map[string]string)
	}
	if len(m.ids) >= remembered {
		for old := range m.ids {
			delete(m.ids, old)
			break
		}
	}
	m.ids[place] = id
}

func (m *memory) drop(place string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.ids, place)
}

// claimTTL returns how long a claim for m is to stand: longer than the record,
// which must not lose its claim while it lives.
func claimTTL(m *plug.Move) time.Duration {
	if m.TTL == 0 {
		return 0
	}
	return min(m.TTL+time.Hour, kv.MaxTTL)
}
