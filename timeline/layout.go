package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// common is what the layouts have in common.
type common struct {
	db   *kvmodel.DB
	base func(owner string) string // what the keys of an owner begin with
	keep int
	ttl  time.Duration
	what func(entry) string
}

// cut returns those of entries, oldest first, that count: the last keep
// different ones, each where it came last.
func (c *common) cut(entries []entry) []entry {
	slices.Reverse(entries)
	kept := distinct(entries, c.keep, c.what)
	slices.Reverse(kept)
	return kept
}

// appended is one key for each owner, or two that take turns if events end:
// position is the order, and what is too old to count stays until somebody
// happens to trim.
type appended struct{ common }

// trimOdds: one push in so many trims.
const trimOdds = 64

// slack is how many entries more than it needs a reader leaves alone.
const slack = 16

// keys returns the keys that can hold events that count, the newer one first.
// A key with a TTL gets events for the length of one TTL and lives for two, so
// it never ends before its events do.
func (a *appended) keys(owner string) []string {
	if a.ttl == 0 {
		return []string{a.base(owner) + "#a"}
	}
	turn := a.db.Now().UnixNano() / int64(a.ttl)
	return []string{a.key(owner, turn), a.key(owner, turn-1)}
}

func (a *appended) key(owner string, turn int64) string {
	return a.base(owner) + "#a" + strconv.FormatInt(turn, 10)
}

func (a *appended) push(ctx context.Context, s kvmodel.Store, owner string, entries []entry) error {
	key := a.keys(owner)[0]
	return addition{key: key, data: encodeAll(entries), ttl: 2 * a.ttl}.put(ctx, s, func() error { return a.trim(ctx, s, key) })
}

func (a *appended) latest(ctx context.Context, s kvmodel.Store, owner string, _ int) ([]entry, error) {
	keys := a.keys(owner)
	results, err := kvmodel.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, err
	}
	var all []entry
	for i, r := range results {
		entries, err := decodeKey(keys[i], r)
		if err != nil {
			return nil, err
		}
		slices.Reverse(entries)
		all = append(all, entries...)
		if len(entries) > a.keep+slack {
			a.db.Soon(func(ctx context.Context) error { return a.trim(ctx, a.db.Store(), keys[i]) })
		}
	}
	return all, nil
}

// decodeKey returns the entries that a get of key answered.
func decodeKey(key string, r kvmodel.Result) ([]entry, error) {
	if errors.Is(r.Err, kvmodel.ErrNotFound) {
		return nil, nil
	}
	if r.Err != nil {
		return nil, r.Err
	}
	entries, err := decodeEntries(r.Value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return entries, nil
}

// trim drops what does not count any more. Anybody may do it at any time: the
// swap fails if an entry has come meanwhile.
func (a *appended) trim(ctx context.Context, s kvmodel.Store, key string) error {
	r, err := kvmodel.One(ctx, s, kvmodel.OpGet(key))
	if errors.Is(err, kvmodel.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	entries, err := decodeKey(key, r)
	if err != nil {
		return err
	}
	kept := a.cut(slices.Clone(entries))
	if len(kept) == len(entries) {
		return nil
	}
	_, err = kvmodel.One(ctx, s, kvmodel.OpSwap(key, r.Version, encodeAll(kept)).For(2*a.ttl))
	return unlessChanged(err)
}

func (a *appended) clear(ctx context.Context, s kvmodel.Store, owner string) error {
	return deleteAll(ctx, s, a.keys(owner))
}

func deleteAll(ctx context.Context, s kvmodel.Store, keys []string) error {
	ops := make([]kvmodel.Op, len(keys))
	for i, key := range keys {
		ops[i] = kvmodel.OpDelete(key)
	}
	return s.Do(ctx, ops)
}

func (a *appended) tidy(owners []string) {
	var keys []string
	for _, owner := range owners {
		if chance(trimOdds) == 0 {
			keys = append(keys, a.keys(owner)[0])
		}
	}
	if len(keys) == 0 {
		return
	}
	a.db.Soon(func(ctx context.Context) error {
		works := make([]func(kvmodel.Store) error, len(keys))
		for i, key := range keys {
			works[i] = func(s kvmodel.Store) error { return a.trim(ctx, s, key) }
		}
		return errors.Join(kvmodel.Together(ctx, a.db.Store(), works...)...)
	})
}

// packed is one key for each owner with the entries that count, oldest first.
type packed struct{ common }

func (p *packed) key(owner string) string { return p.base(owner) + "#p" }

func (p *packed) push(ctx context.Context, s kvmodel.Store, owner string, entries []entry) error {
	const tries = 16
	key := p.key(owner)
	for range tries {
		r, err := kvmodel.One(ctx, s, kvmodel.OpGet(key))
		if err != nil && !errors.Is(err, kvmodel.ErrNotFound) {
			return err
		}
		there, err := decodeKey(key, r)
		if err != nil || contains(there, entries) {
			return err
		}
		err = p.store(ctx, s, key, r, p.cut(append(there, entries...)))
		if !changed(err) && !errors.Is(err, kvmodel.ErrUnclear) {
			return err
		}
	}
	return fmt.Errorf("%s: %w: %d tries lost against others", key, kvmodel.ErrConflict, tries)
}

// contains tells whether an earlier try, thought lost, has put entries in.
func contains(there, entries []entry) bool {
	return slices.ContainsFunc(there, func(e entry) bool { return e.compare(entries[len(entries)-1]) == 0 })
}

func (p *packed) store(ctx context.Context, s kvmodel.Store, key string, old kvmodel.Result, entries []entry) error {
	op := kvmodel.OpAdd(key, encodeAll(entries))
	if old.Err == nil {
		op = kvmodel.OpSwap(key, old.Version, op.Value)
	}
	_, err := kvmodel.One(ctx, s, op.For(p.ttl))
	return err
}

func (p *packed) latest(ctx context.Context, s kvmodel.Store, owner string, _ int) ([]entry, error) {
	r, err := kvmodel.One(ctx, s, kvmodel.OpGet(p.key(owner)))
	if err != nil && !errors.Is(err, kvmodel.ErrNotFound) {
		return nil, err
	}
	entries, err := decodeKey(p.key(owner), r)
	slices.Reverse(entries)
	return entries, err
}

func (p *packed) clear(ctx context.Context, s kvmodel.Store, owner string) error {
	return deleteAll(ctx, s, []string{p.key(owner)})
}

func (p *packed) tidy([]string) {}

// numbered is a ring for each owner, with a key for each event.
type numbered struct {
	common
	process *process
	shapes  []shape
}

func (r *numbered) lane(owner string) *lane {
	return newLane(r.process, r.base(owner), r.shapes)
}

func (r *numbered) push(ctx context.Context, s kvmodel.Store, owner string, entries []entry) error {
	l := r.lane(owner)
	for _, e := range entries {
		n, err := l.take(ctx, s)
		if err != nil {
			return err
		}
		e.stamp = n
		if err := l.publish(ctx, s, e); err != nil {
			return err
		}
		l.tidy(ctx, s, n)
	}
	return nil
}

func (r *numbered) latest(ctx context.Context, s kvmodel.Store, owner string, n int) ([]entry, error) {
	m := newMerge(s, []*lane{r.lane(owner)}, false, nil, n)
	m.what = r.what
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	items, err := m.gather(ctx, n, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	entries := make([]entry, len(items))
	for i, it := range items {
		entries[i] = it.entry
	}
	return entries, nil
}

func (r *numbered) clear(ctx context.Context, s kvmodel.Store, owner string) error {
	l := r.lane(owner)
	keys := make([]string, l.shape().blocks)
	for i := range keys {
		keys[i] = l.key(l.shape(), int64(i))
	}
	return deleteAll(ctx, s, keys)
}

func (r *numbered) tidy([]string) {}
