package timeline

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Layout is the storage format of an owner's events.
type Layout uint8

const (
	// Appended is one key that events are appended to. A push is one trip.
	Appended Layout = iota

	// Numbered is a ring with one key for each event. A push is two trips. Keep counts numbers: a
	// failed push may leave one unused, and so may a process's first push to an owner beside
	// others.
	Numbered

	// Packed is one key with only the last events. A push is two trips and may be retried; a read
	// transfers the fewest bytes.
	Packed
)

type layout interface {
	push(ctx context.Context, s kv.Store, owner string, entries []entry) error

	// latest returns, newest first, at least the entries of the last n subjects.
	latest(ctx context.Context, s kv.Store, owner string, n int) ([]entry, error)

	keys(owner string) []string
}

type common struct {
	db   plug.DB
	base func(owner string) string
	keep int
	ttl  time.Duration
	what func(entry) string
}

func (c *common) cut(entries []entry) []entry {
	slices.Reverse(entries)
	kept := distinct(entries, c.keep, c.what)
	slices.Reverse(kept)
	return kept
}

func distinct(entries []entry, n int, what func(entry) string) []entry {
	seen := make(map[string]bool)
	var kept []entry
	for _, en := range entries {
		if len(kept) == n {
			break
		}
		if w := what(en); !seen[w] {
			seen[w] = true
			kept = append(kept, en)
		}
	}
	return kept
}

// appended is one key for each owner; with a TTL, several in rotation. Outdated entries stay until
// it is trimmed.
type appended struct{ common }

// one push in trimOdds trims its key
const trimOdds = 64

const slack = 16

// With a TTL, the key of the next turn is for processes with a fast clock.
func (a *appended) keys(owner string) []string {
	if a.ttl == 0 {
		return []string{a.key(owner)}
	}
	now := a.turn()
	return []string{a.keyOf(owner, now+1), a.keyOf(owner, now), a.keyOf(owner, now-1)}
}

// With a TTL, a key takes events for one TTL and lives for two, so it never expires before its
// events.
func (a *appended) key(owner string) string {
	if a.ttl == 0 {
		return a.base(owner) + "#a"
	}
	return a.keyOf(owner, a.turn())
}

func (a *appended) turn() int64 { return a.db.Now().UnixNano() / int64(a.ttl) }

func (a *appended) keyOf(owner string, turn int64) string {
	return a.base(owner) + "#a" + strconv.FormatInt(turn, 10)
}

func (a *appended) push(ctx context.Context, s kv.Store, owner string, entries []entry) error {
	key := a.key(owner)
	err := addition{key: key, data: encodeAll(entries), ttl: 2 * a.ttl}.put(ctx, s, func() error { return a.trim(ctx, s, key) })
	if err == nil && kv.Random()%trimOdds == 0 {
		a.trimSoon(key)
	}
	return err
}

func (a *appended) latest(ctx context.Context, s kv.Store, owner string, _ int) ([]entry, error) {
	keys := a.keys(owner)
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return nil, err
	}
	var all []entry
	var damaged []string
	for i, r := range results {
		entries, err := entriesIn(r)
		if err != nil {
			return nil, err
		}
		if isDamaged(entries) {
			damaged = append(damaged, keys[i])
		}
		slices.Reverse(entries)
		if all = append(all, entries...); len(entries) > a.keep+slack {
			a.trimSoon(keys[i])
		}
	}
	return all, damageOf(damaged)
}

func (a *appended) trimSoon(key string) {
	a.db.Soon(func(ctx context.Context) error { return a.trim(ctx, a.db.Store(), key) })
}

// The swap fails if an entry was appended since the read.
func (a *appended) trim(ctx context.Context, s kv.Store, key string) error {
	entries, version, err := readKey(ctx, s, key)
	if err != nil {
		return err
	}
	kept := a.cut(slices.Clone(entries))
	if len(kept) == len(entries) {
		return nil
	}
	_, err = kv.One(ctx, s, kv.OpSwap(key, version, encodeAll(kept)).For(2*a.ttl))
	return unlessRaced(err)
}

type packed struct{ common }

func (p *packed) keys(owner string) []string { return []string{p.base(owner) + "#p"} }

func (p *packed) push(ctx context.Context, s kv.Store, owner string, entries []entry) error {
	key, tries := p.keys(owner)[0], 0
	return kv.Change(key, func() error {
		there, version, err := readKey(ctx, s, key)
		if tries++; err != nil || tries > 1 && contains(there, entries) {
			return err
		}
		data := encodeAll(p.cut(append(there, entries...)))
		_, err = kv.One(ctx, s, kv.OpReplace(key, version, data).For(p.ttl))
		return err
	})
}

// contains reports whether an earlier try, with a lost answer, has stored entries.
func contains(there, entries []entry) bool {
	last := entries[len(entries)-1]
	return slices.ContainsFunc(there, func(e entry) bool { return e.compare(&last) == 0 && e.at == last.at })
}

func (p *packed) latest(ctx context.Context, s kv.Store, owner string, _ int) ([]entry, error) {
	keys := p.keys(owner)
	entries, _, err := readKey(ctx, s, keys[0])
	slices.Reverse(entries)
	if err == nil && isDamaged(entries) {
		err = damageOf(keys)
	}
	return entries, err
}

type numbered struct {
	common
	process *process
	shape   shape
}

func (r *numbered) lane(owner string) *lane { return newLane(r.process, r.base(owner), r.shape) }

func (r *numbered) keys(owner string) []string { return r.lane(owner).keys(0, r.shape.blocks) }

func (r *numbered) push(ctx context.Context, s kv.Store, owner string, entries []entry) error {
	l := r.lane(owner)
	for i, e := range entries {
		var err error
		if e.stamp, err = l.take(ctx, s, 1); err == nil {
			err = l.add(ctx, s, e)
		}
		if err != nil && i > 0 {
			return kv.Unclear(err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *numbered) latest(ctx context.Context, s kv.Store, owner string, n int) ([]entry, error) {
	l := r.lane(owner)
	// repeated subjects take more entries
	m := newMerge(s, []*lane{l}, false, nil, max(n, n*int(l.stale.Load())/10))
	m.what = r.what
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	items, err := m.gather(ctx, n, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	if len(items) >= n {
		m.learnStale(10 * len(items) / n)
	}
	entries := make([]entry, len(items))
	for i, it := range items {
		entries[i] = it.entry
	}
	return entries, m.damage()
}
