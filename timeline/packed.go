package timeline

import (
	"context"
	"slices"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// packed is one key for each owner, with the current entries, oldest first.
type packed struct{ common }

func (p *packed) key(owner string) string { return p.base(owner) + "#p" }

func (p *packed) push(ctx context.Context, s kv.Store, owner string, entries []entry) error {
	key, tries := p.key(owner), 0
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
	entries, _, err := readKey(ctx, s, p.key(owner))
	slices.Reverse(entries)
	if err == nil && isDamaged(entries) {
		err = damageOf([]string{p.key(owner)})
	}
	return entries, err
}

func (p *packed) clear(ctx context.Context, s kv.Store, owner string) error {
	return deleteAll(ctx, s, []string{p.key(owner)})
}

func (p *packed) tidy([]string) {}
