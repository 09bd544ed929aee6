package kvmodel

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// maxAge is how long after A0 a change may still commit.
const maxAge = 10 * time.Second

// cleanUp removes, after the reply, what a change that did not commit has
// prepared. An unclear commit is decided by that as well.
func (c *change[T]) cleanUp() {
	if len(c.lines)+len(c.touched) == 0 {
		return
	}
	since := c.db.now()
	repaired, doubt := false, false
	c.db.Surely(func(ctx context.Context) error {
		if !repaired {
			if err := c.repair(ctx, c.db.store, c.id, c.maxRev, c.touched, false); err != nil {
				return err
			}
			// What was prepared may have been counted if it was there for long.
			repaired, doubt = true, c.unclear || c.db.now().Sub(c.since) > maxAge/2
		}
		if err := c.undo(ctx, doubt); err != nil {
			return err
		}
		if c.unclear {
			// The change may have been made after all.
			if err := c.Changed(ctx, c.db.now().Sub(since), c.id, c.creates); err != nil {
				return err
			}
		}
		c.complete()
		return nil
	})
}

// undo takes back what the change has counted beside its commits. With doubt, one
// of these may have been carried out.
func (c *change[T]) undo(ctx context.Context, doubt bool) error {
	var works []func(kv.Store) error
	for i, index := range c.indexes {
		if counts(index) && c.added != nil {
			works = append(works, func(s kv.Store) error {
				return index.(plug.Counting).Undo(ctx, s, &c.added[i], placesOf(c.touched, index.Name()), doubt)
			})
		}
	}
	return work.FirstError(kv.Together(ctx, c.db.store, works...)...)
}
