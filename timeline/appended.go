package timeline

import (
	"context"
	"slices"
	"strconv"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// appended is one key for each owner, or several in rotation if events have a TTL. Entries are in
// the order of their appends, and outdated ones stay until some process trims the key.
type appended struct{ common }

// trimOdds: one push in trimOdds trims its key.
const trimOdds = 64

// slack is the number of surplus entries that a reader tolerates.
const slack = 16

// keys returns the keys that can hold current events, newest first: the key of the next turn, for
// processes with a fast clock, of the current turn, and of the previous one.
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
	return addition{key: key, data: encodeAll(entries), ttl: 2 * a.ttl}.put(ctx, s, func() error { return a.trim(ctx, s, key) })
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
		entries, err := decodeKey(keys[i], r)
		if err != nil {
			return nil, err
		}
		slices.Reverse(entries)
		if isDamaged(entries) {
			damaged = append(damaged, keys[i])
		}
		all = append(all, entries...)
		if len(entries) > a.keep+slack {
			a.db.Soon(func(ctx context.Context) error { return a.trim(ctx, a.db.Store(), keys[i]) })
		}
	}
	return all, damageOf(damaged)
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

func (a *appended) clear(ctx context.Context, s kv.Store, owner string) error {
	return deleteAll(ctx, s, a.keys(owner))
}

func (a *appended) tidy(owners []string) {
	var keys []string
	for _, owner := range owners {
		if kv.Random()%trimOdds == 0 {
			keys = append(keys, a.key(owner))
		}
	}
	if len(keys) == 0 {
		return
	}
	a.db.Soon(func(ctx context.Context) error {
		return kv.Join(kv.Each(ctx, a.db.Store(), keys, func(s kv.Store, _ int, key string) error {
			return a.trim(ctx, s, key)
		})...)
	})
}
