package timeline

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The numbers of a lane are divided into eras. A lane begins in the first, and stays
// in it unless a timeline is added to a model with records. Then Build begins the
// next era of each lane, in the middle of its numbers:
//
//	below the dawn  the records that were there, in the order of their field
//	the dawn        those whose change was under way meanwhile
//	above the dawn  what has changed since, by the lane's counter
//
// So records can be entered from the newest to the oldest, without knowing how many
// there are, while others write.
const eraBits = 48

// era returns the number of n's era.
func era(n int64) int64 { return n >> eraBits }

// dawn returns the number in the middle of an era. No writer is ever given it.
func dawn(era int64) int64 { return era<<eraBits | 1<<(eraBits-1) }

// nextEra begins the lane's next era and returns its dawn, which the counter is at.
// No one else has begun this era.
func (l *lane) nextEra(ctx context.Context, s kv.Store) (int64, error) {
	for range pushTries {
		count, version, err := l.readCounter(ctx, s)
		if err != nil {
			return 0, err
		}
		top := max(count, l.top())
		if count < 0 {
			high, err := l.scan(ctx, s)
			if err != nil {
				return 0, err
			}
			top = max(top, high)
		}
		first := dawn(era(max(top, 0)) + 1)
		if first > lastStamp {
			return 0, fmt.Errorf("%s: %w: all eras are used", l.counterKey, kv.ErrNotNumber)
		}
		if err = l.setCounter(ctx, s, version, first); err == nil {
			l.learn(first)
			return first, nil
		}
		if !errors.Is(err, errAgain) {
			return 0, err
		}
	}
	return 0, fmt.Errorf("%s: %w: no era after %d tries", l.counterKey, kv.ErrConflict, pushTries)
}

// isBehind reports whether an era has begun since n was handed out, or n is no number.
// If so, the records that were there then have been numbered anew. now is the lane's
// era.
func (l *lane) isBehind(ctx context.Context, s kv.Store, n int64) (behind bool, now int64, err error) {
	count, _, err := l.readCounter(ctx, s)
	now = era(max(count, l.top(), 0))
	return n == 0 || era(n) < now, now, err
}
