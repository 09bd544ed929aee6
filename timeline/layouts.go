package timeline

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Layout is the storage format of one owner's events.
type Layout uint8

const (
	// Appended is one key that events are appended to; the last of them count. A push is one trip.
	Appended Layout = iota

	// Numbered is a ring of numbered keys, one for each event. A push is two trips. Keep counts
	// numbers: a failed push may leave one unused, and so may a process's first push to an owner
	// beside others.
	Numbered

	// Packed is one key with only the last events. A push is two trips and may be retried, but a
	// read transfers the fewest bytes.
	Packed
)

type layout interface {
	// push adds entries, oldest first.
	push(ctx context.Context, s kv.Store, owner string, entries []entry) error

	// latest returns entries, newest first: at least those of the last n subjects.
	latest(ctx context.Context, s kv.Store, owner string, n int) ([]entry, error)

	// keys returns the keys that can hold current entries.
	keys(owner string) []string
}

type common struct {
	db   plug.DB
	base func(owner string) string // returns the prefix of an owner's keys
	keep int
	ttl  time.Duration
	what func(entry) string
}

// cut returns the last keep different entries, each at its last occurrence. All are oldest first.
func (c *common) cut(entries []entry) []entry {
	slices.Reverse(entries)
	kept := distinct(entries, c.keep, c.what)
	slices.Reverse(kept)
	return kept
}

// distinct returns the first n of entries with different subjects.
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

// appended is one key for each owner, or several in rotation if events have a TTL. Entries are in
// the order of their appends. Outdated ones stay until some process trims the key.
type appended struct{ common }

// trimOdds: one push in trimOdds trims its key.
const trimOdds = 64

// slack is the number of surplus entries that a reader tolerates.
const slack = 16

// keys returns the keys newest first. With a TTL they include the key of the next turn, for
// processes with a fast clock.
func (a *appended) keys(owner string) []string {
	if a.ttl == 0 {
		return []string{a.key(owner)}
	}
	now := a.turn()
	return []string{a.keyOf(owner, now+1), a.keyOf(owner, now), a.keyOf(owner, now-1)}
}

// key returns the key for new events. With a TTL, a key takes events for one TTL and lives for two,
// so it never expires before its events do.
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

// trim drops outdated entries. Any process may do so at any time: the swap fails if an entry was
// appended since the key was read.
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

// packed is one key for each owner, with the current entries, oldest first.
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

// contains reports whether an earlier try with a lost answer has stored entries.
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

// numbered is a ring for each owner, with a key for each event.
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
			return kv.Unclear(err) // Some are stored.
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *numbered) latest(ctx context.Context, s kv.Store, owner string, n int) ([]entry, error) {
	l := r.lane(owner)
	// With repeated subjects, more entries are needed.
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
		m.noteStale(10 * len(items) / n)
	}
	entries := make([]entry, len(items))
	for i, it := range items {
		entries[i] = it.entry
	}
	return entries, m.damage()
}
