package memberlog

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Digest returns the total of what weigh says of the notes of the members, and a sum that is
// another one if others are members, or if an entry of one has changed. It costs what Count does.
func (l *Logs) Digest(ctx context.Context, s kv.Store, place string, weigh func(note string) int64) (n int64, sum uint64, err error) {
	err = l.each(ctx, s, place, func(rows []row) bool {
		now := l.now()
		for i := range rows {
			if r := &rows[i]; r.member(now) {
				n += weigh(r.Note.String())
				sum += (r.hash ^ r.Rev) * 0x9e3779b97f4a7c15
			}
		}
		return true
	})
	return n, sum, err
}
