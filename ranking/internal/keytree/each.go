package keytree

import (
	"context"
	"math"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// eachAtOnce is the approximate number of entries Each reads at once: some 50 leaves.
const eachAtOnce = 32 * entryLimit

// Each calls f with the ids of all members that have an entry, from the lowest score up, some
// thousands at a time, until f returns an error. A member may be passed twice, or without being in
// the ranking. Each may miss a member whose score falls while it runs.
func (t *Tree) Each(ctx context.Context, s kv.Store, f func(ids []string) error) error {
	return t.query(ctx, s, func(r *reading) error {
		for st, all := (Between{}).stretch(false), false; !all; {
			if err := r.answer(ctx, s, r.reach(st, eachAtOnce)); err != nil {
				return err
			}
			var entries []entry
			if entries, all = r.entries(st, math.MaxInt); len(entries) == 0 {
				return nil
			}
			if err := f(uniq(idsOf(entries))); err != nil {
				return err
			}
			last := entries[len(entries)-1]
			st.from = r.point(last.score, last.id).beside(true)
		}
		return nil
	})
}
