package enumeration

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Mend writes the chunks of numbers as they were before one bit of them changed.
func (e *Enumeration) Mend(ctx context.Context, s kv.Store, numbers []int64) error {
	for _, n := range numbers {
		c, err := e.readOne(ctx, s, n)
		if err != nil {
			return err
		}
		if c.mended == nil {
			continue
		}
		if _, err := kv.One(ctx, s, kv.OpSwap(e.key(n), c.version, c.mended)); err != nil && !kv.Raced(err) {
			return err
		}
	}
	return nil
}
