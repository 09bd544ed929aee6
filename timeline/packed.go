package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// packed is one key for each owner with the entries that count, oldest first.
type packed struct{ common }

func (p *packed) key(owner string) string { return p.base(owner) + "#p" }

func (p *packed) push(ctx context.Context, s kv.Store, owner string, entries []entry) error {
	const tries = 16
	key := p.key(owner)
	for range tries {
		r, err := kv.One(ctx, s, kv.OpGet(key))
		if err != nil && !errors.Is(err, kv.ErrNotFound) {
			return err
		}
		there, err := decodeKey(key, r)
		if err != nil || contains(there, entries) {
			return err
		}
		err = p.store(ctx, s, key, r, p.cut(append(there, entries...)))
		if !changed(err) && !errors.Is(err, kv.ErrUnclear) {
			return err
		}
	}
	return fmt.Errorf("%s: %w: %d tries lost against others", key, kv.ErrConflict, tries)
}

// contains tells whether an earlier try, thought lost, has put entries in.
func contains(there, entries []entry) bool {
	return slices.ContainsFunc(there, func(e entry) bool { return e.compare(entries[len(entries)-1]) == 0 })
}

func (p *packed) store(ctx context.Context, s kv.Store, key string, old kv.Result, entries []entry) error {
	op := kv.OpAdd(key, encodeAll(entries))
	if old.Err == nil {
		op = kv.OpSwap(key, old.Version, op.Value)
	}
	_, err := kv.One(ctx, s, op.For(p.ttl))
	return err
}

func (p *packed) latest(ctx context.Context, s kv.Store, owner string, _ int) ([]entry, error) {
	r, err := kv.One(ctx, s, kv.OpGet(p.key(owner)))
	if err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	entries, err := decodeKey(p.key(owner), r)
	slices.Reverse(entries)
	return entries, err
}

func (p *packed) clear(ctx context.Context, s kv.Store, owner string) error {
	return deleteAll(ctx, s, []string{p.key(owner)})
}

func (p *packed) tidy([]string) {}
