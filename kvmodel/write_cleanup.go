package kvmodel

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
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
	c.db.Surely(func(ctx context.Context) error {
		doubt := plug.NoDoubt
		if c.unclear || c.db.now().Sub(c.since) > maxAge/2 {
			doubt = plug.Undone
		}
		if err := c.repair(ctx, c.db.store, c.id, c.maxRev, c.touched, doubt); err != nil {
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
