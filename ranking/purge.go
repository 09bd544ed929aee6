package ranking

import (
	"context"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var _ plug.Purger = (*counted)(nil)

// Purge removes the member's own records on the boards of places, and its counts in the kept
// periods.
func (f *counted) Purge(ctx context.Context, s kv.Store, id string, places []string, fence func() error) error {
	boards := []string{""}
	if f.many {
		var err error
		if boards, err = boardsIn(places); err != nil {
			return f.failure(err)
		}
	}
	var keys []string
	for _, at := range f.kept() {
		if f.per != Forever {
			keys = append(keys, f.periodKey(id, at))
		}
		for _, by := range boards {
			keys = append(keys, f.tree(by, at).own.Key(id))
		}
	}
	return f.failure(dropKeys(ctx, s, keys, fence))
}

// dropKeys reads keys, calls fence, and removes the values it read.
func dropKeys(ctx context.Context, s kv.Store, keys []string, fence func() error) error {
	results, err := kv.GetAll(ctx, s, keys...)
	if err != nil {
		return err
	}
	var drops []kv.Op
	for i, r := range results {
		if r.Err == nil {
			drops = append(drops, kv.OpDrop(keys[i], r.Version))
		}
	}
	if len(drops) == 0 {
		return nil
	}
	if err := fence(); err != nil {
		return err
	}
	return s.Do(ctx, drops)
}
