package timeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// begin moves the lane to the dawn of the nth era, unless it is already there.
func (l *lane) begin(ctx context.Context, s kv.Store, n int64) error {
	if dawn(n) > lastStamp {
		return fmt.Errorf("%s: %w: era %d", l.counterKey(), kv.ErrNotNumber, n)
	}
	for range pushTries {
		count, version, err := l.readCounter(ctx, s)
		if err != nil || count >= dawn(n) {
			return err
		}
		if count < 0 {
			// A lost counter may have been higher. Then a writer recovers it.
			if top, err := l.scan(ctx, s); err != nil || top >= dawn(n) {
				return err
			}
		}
		if err = l.setCounter(ctx, s, version, dawn(n)); err == nil {
			l.learn(dawn(n))
		}
		if !errors.Is(err, errAgain) {
			return err
		}
	}
	return fmt.Errorf("%s: %w: no era after %d tries", l.counterKey(), kv.ErrConflict, pushTries)
}

// era returns the current era of the lane.
func (l *lane) era(ctx context.Context, s kv.Store) (int64, error) {
	count, _, err := l.readCounter(ctx, s)
	return era(max(count, l.top(), 0)), err
}
