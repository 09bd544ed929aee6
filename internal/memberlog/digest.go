package memberlog

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Digest returns the number of members, and a sum that changes with the members and their entries.
// It costs the same as Count.
func (l *Logs) Digest(ctx context.Context, s kv.Store, place string) (n int, sum uint64, err error) {
	err = l.each(ctx, s, place, func(rows []row) bool {
		now := l.now()
		for i := range rows {
			if r := &rows[i]; r.member(now) {
				n++
				sum += (r.hash ^ r.Rev) * 0x9e3779b97f4a7c15
			}
		}
		return true
	})
	return n, sum, err
}
