package ranking

import (
	"cmp"
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func (c *core) noteLoss(by string, at time.Time) {
	if c.tree(by, at).Lost() {
		c.losses.Store(boardKey{by, c.per.begin(at)}, true)
	}
}

// lookForLoss distrusts a tree if a node to which no record led is lost. On a board for each value,
// nobody knows which values there were.
func (c *core) lookForLoss(ctx context.Context, s kv.Store) error {
	if c.many {
		return nil
	}
	now := c.host.DB().Now()
	tree := c.tree("", now)
	err := tree.Scan(ctx, s, func([]string) error { return nil })
	lost, failed := tree.Distrust(ctx, s, err)
	if lost != 0 {
		c.losses.Store(boardKey{"", c.per.begin(now)}, true)
		return nil
	}
	return c.failure(cmp.Or(failed, err))
}

var _ plug.Finisher = (*core)(nil)

func (c *core) Finish(ctx context.Context, s kv.Store, _ plug.Steps) error {
	if err := c.lookForLoss(ctx, s); err != nil {
		return err
	}
	var lost []boardKey
	c.losses.Range(func(key, _ any) bool {
		lost = append(lost, key.(boardKey))
		c.losses.Delete(key)
		return true
	})
	if len(lost) == 0 {
		return nil
	}
	epochs := make([]uint64, len(lost))
	err := cmp.Or(kv.Each(ctx, s, lost, func(s kv.Store, i int, key boardKey) (err error) {
		epochs[i], err = c.tree(key.by, c.time(key.at)).Distrust(ctx, s, nil)
		return err
	})...)
	if err != nil {
		return c.failure(err)
	}
	ids, err := c.allOf(ctx, lost)
	if err != nil {
		return err
	}
	return c.failure(kv.Join(kv.Each(ctx, s, lost, func(s kv.Store, i int, key boardKey) error {
		if epochs[i] == 0 {
			return nil // Another process has filled it.
		}
		return c.tree(key.by, c.time(key.at)).Rebuild(ctx, s, ids[key.by], epochs[i])
	})...))
}

// allOf returns, by value, the ids of all records on the boards of trees.
func (c *core) allOf(ctx context.Context, trees []boardKey) (map[string][]string, error) {
	ids := make(map[string][]string)
	for _, key := range trees {
		ids[key.by] = []string{}
	}
	err := c.host.Each(ctx, func(recs []*plug.Seen) error {
		for _, rec := range recs {
			for by := range ids {
				if stateOf(by, rec).In {
					ids[by] = append(ids[by], rec.ID)
				}
			}
		}
		return nil
	})
	return ids, err
}

const lossTries = 3

// withAllIfLost does work with ids. If the board has lost a part, it does work with all its
// records, for the epoch lost of its tree, a few times if it loses more.
func (p part) withAllIfLost(ctx context.Context, ids []string, work func(ids []string, lost uint64) error) error {
	tree, lost := p.tree(p.by, p.when()), uint64(0)
	for try := 0; ; try++ {
		err := work(ids, lost)
		now, failed := tree.Distrust(ctx, p.host.Store(), err)
		if failed != nil || now == 0 || now == lost || try == lossTries {
			return cmp.Or(err, p.failure(failed))
		}
		all, failed := p.allOf(ctx, []boardKey{{by: p.by}})
		if failed != nil {
			return p.failure(failed)
		}
		ids, lost = all[p.by], now
	}
}
