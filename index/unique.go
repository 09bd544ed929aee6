package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ringtree/ringtree/internal/kept"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Unique is an index from a value to the one record that holds it. No two records ever hold the
// same value, even after crashes.
//
// The key of each value holds a claim: the record that holds the value, or is about to, with its
// rev at the time. A claim is
//
//   - live while its owner's record holds the value; with [HeldFor], until its time has passed,
//   - pending while that record still has the claim's rev, since the change that made the claim may
//     still commit,
//   - and dead otherwise. Then any other change may take it over.
type Unique[T, V any] struct {
	key kvmodel.KeyOf[V]
	all *unique
}

// With HeldFor, a place has a note: the end of its time.
type unique struct {
	index, def string
	fields     []string
	parse      func(place string) (any, error)
	places     func(plug.Record) []string
	limit      func(plug.Record) error
	host       plug.Host
	owners     kept.Recent[string, string] // ids, by place
}

// UniqueOption configures a Unique.
type UniqueOption func(*unique)

// HeldFor makes a record hold its values for d, counted from the result of since, which must not
// change while the record exists. Then another record may take a value. Times are by the clock of
// the process that asks.
func HeldFor[T any](d time.Duration, since func(*T) time.Time) UniqueOption {
	return func(u *unique) {
		places := u.places
		u.places = func(rec plug.Record) []string {
			all, until := places(rec), strconv.FormatInt(since(rec.(*T)).Add(d).UnixMilli(), 10)
			for i := range all {
				all[i] = plug.Noted(all[i], until)
			}
			return all
		}
	}
}

// NewUnique returns the index described by spec, as an index of records.
func NewUnique[T any, K comparable, V any](records *kvmodel.Records[T, K], spec kvmodel.IndexSpec[T, V], options ...UniqueOption) *Unique[T, V] {
	u := &unique{
		index: spec.Name, def: spec.Def, fields: spec.Fields,
		parse:  func(place string) (any, error) { return spec.Key.Parse(place) },
		places: plug.Untyped(spec.Places), limit: plug.Untyped(spec.Limit),
		owners: kept.Recent[string, string]{Limit: 2048},
	}
	for _, option := range options {
		option(u)
	}
	records.Plug(u, func(host plug.Host) { u.host = host })
	return &Unique[T, V]{spec.Key, u}
}

// Find returns the record that holds v, or ErrNotFound. Two trips, or one if this process knows the
// last holder of v.
func (u *Unique[T, V]) Find(ctx context.Context, v V) (*T, error) {
	ctx, end := u.all.host.Begin(ctx, "Find")
	defer end()
	found, err := u.FindMulti(ctx, []V{v})
	if err != nil {
		return nil, err
	}
	if found[0] == nil {
		return nil, u.all.failure(u.key.Text(v), kv.ErrNotFound)
	}
	return found[0], nil
}

// FindMulti returns the records that hold vs, in order, nil for missing ones, in the trips of one
// Find.
func (u *Unique[T, V]) FindMulti(ctx context.Context, vs []V) ([]*T, error) {
	finds, err := u.all.findAll(ctx, kv.Texts(vs, u.key.Text))
	if err != nil {
		return nil, err
	}
	values := make([]*T, len(vs))
	for i := range finds {
		values[i] = plug.As[T](finds[i].value)
	}
	return values, nil
}

func (u *unique) findAll(ctx context.Context, places []string) ([]find, error) {
	ctx, end := u.host.Begin(ctx, "FindMulti")
	defer end()
	ctx, cancel := u.host.DB().Patient(ctx)
	defer cancel()
	if err := u.host.Ready(ctx); err != nil {
		return nil, err
	}
	finds := make([]find, len(places))
	works := make([]func(kv.Store) error, len(places))
	for i, place := range places {
		f := &finds[i]
		f.place = place
		works[i] = func(s kv.Store) error { return u.find(ctx, s, f) }
	}
	for i, err := range kv.Together(ctx, u.host.Store(), works...) {
		if err != nil {
			return nil, u.failure(finds[i].place, err)
		}
	}
	return finds, nil
}

type find struct {
	place string
	value plug.Record
}

func (u *unique) find(ctx context.Context, s kv.Store, f *find) error {
	if id, ok := u.owners.Get(f.place); ok {
		// a record that holds the value is the answer, regardless of its claim
		if done, err := u.readHolder(ctx, kv.Near(s), f, id); done || err != nil {
			return err
		}
		u.owners.Drop(f.place)
	}
	if kv.PowersOf(s).Near {
		if _, done, err := u.follow(ctx, kv.Near(s), f); done || err != nil {
			return err
		}
	}
	owner, done, err := u.follow(ctx, s, f)
	if !done && err == nil && owner != "" {
		u.host.MendSoon(owner, f.place, 0)
	}
	return err
}

// follow looks at the owner that the claim names. It is not done if that record does not hold the
// value, or if memory has no claim: both may be old.
func (u *unique) follow(ctx context.Context, s kv.Store, f *find) (owner string, done bool, err error) {
	c, err := u.claim(ctx, s, f.place)
	if err != nil || c.owner == "" {
		return "", !c.recalled, err
	}
	done, err = u.readHolder(ctx, s, f, c.owner)
	if done {
		// both may be part of a record's text, which must not be kept alive
		u.owners.Put(strings.Clone(f.place), strings.Clone(c.owner), 1)
	}
	return c.owner, done, err
}

func (u *unique) readHolder(ctx context.Context, s kv.Store, f *find, id string) (bool, error) {
	recs, err := u.host.See(ctx, s, id)
	if err != nil || !u.holds(recs[0], f.place) {
		return false, err
	}
	f.value = recs[0].Value
	return true, nil
}

func (u *unique) Name() string { return u.index }

func (u *unique) Def() string { return u.def }

func (u *unique) Places(v plug.Record) []string { return u.places(v) }

func (u *unique) Limit(rec plug.Record) error { return u.limit(rec) }

func (u *unique) Prepare(ctx context.Context, s kv.Store, m *plug.Move) error {
	return u.atEach(ctx, s, m.Gained, func(s kv.Store, i int) error { return u.take(ctx, s, m, m.Gained[i]) })
}

// Chains returns true: a claim is one op, unless another record may hold the value.
func (u *unique) Chains(*plug.Move) bool { return true }

// Beside checks the claims of a build again. Between the read of the record and the claim, a change
// may have released the value.
func (u *unique) Beside(ctx context.Context, s kv.Store, m *plug.Move) error {
	if m.Added != nil || isAtomic(u.host) {
		return nil
	}
	return u.conformAll(ctx, s, m.ID, m.Gained)
}

func (u *unique) After(ctx context.Context, s kv.Store, moves []*plug.Move) error {
	if len(moves) != 1 {
		return plug.EachAlone(ctx, s, moves, u.After)
	}
	m := moves[0]
	places := slices.Concat(m.Renewed, m.Lost)
	if !m.Stands.Equal(m.Ends) {
		places = append(places, m.Gained...)
	}
	return u.conformAll(ctx, s, m.ID, places)
}

func (u *unique) Repair(ctx context.Context, s kv.Store, rec *plug.Seen, places []string) error {
	return u.conformAll(ctx, s, rec.ID, places)
}

func (*unique) Purge(context.Context, kv.Store, plug.Gone, func() error) error { return nil }

func (u *unique) Check(ctx context.Context, s kv.Store, recs []*plug.Seen) ([][]string, error) {
	holders := plug.Holders(recs)
	wrong := make([][]string, len(recs))
	soon := u.host.DB().Now().Add(endsLate)
	places := slices.DeleteFunc(slices.Sorted(maps.Keys(holders)), func(place string) bool { return hasEnded(place, soon) })
	for places := range slices.Chunk(places, checkedAtOnce) {
		keys := kv.Texts(places, u.key)
		results, err := kv.GetAll(ctx, s, keys...)
		if err != nil {
			return nil, err
		}
		for k, place := range places {
			c, err := claimIn(keys[k], results[k])
			if err != nil {
				return nil, u.failure(place, err)
			}
			for _, i := range holders[place] {
				if id := recs[i].ID; c.owner != id {
					wrong[i] = append(wrong[i], fmt.Sprintf("%s.%s: %s holds %q, which is claimed by %s", u.host.Model(), u.index, id, plug.Bare(place), cmp.Or(c.owner, "nobody")))
				}
			}
		}
	}
	return wrong, nil
}

func (u *unique) atEach(ctx context.Context, s kv.Store, places []string, step func(kv.Store, int) error) error {
	return atEach(ctx, s, len(places), step, func(i int, err error) error { return u.failure(places[i], err) })
}

func (u *unique) failure(place string, err error) error {
	var taken *kvmodel.TakenError
	if errors.As(err, &taken) {
		return err
	}
	return fmt.Errorf("%s.%s %q: %w", u.host.Model(), u.index, plug.Bare(place), err)
}
