package ranking

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A tree that lost a node is rebuilt from all records, whether a rebuild of the board or of the
// data class finds it.

// losses are the damaged trees that a rebuild of the data class found.
type losses struct {
	mu sync.Mutex
	of map[boardKey]bool
}

func (l *losses) note(key boardKey) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = make(map[boardKey]bool)
	}
	l.of[key] = true
}

// take returns the trees and clears the set.
func (l *losses) take() []boardKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Collect(maps.Keys(l.of))
	l.of = nil
	return all
}

// noteLoss notes the tree of a value in the period that contains at, if the tree lost a node.
func (c *core) noteLoss(by string, at time.Time) {
	if c.tree(by, at).Lost() {
		c.losses.note(boardKey{by, c.per.begin(at)})
	}
}

// lookForLoss distrusts the tree of a board if it has lost a node to which no record has led:
// one whose records are gone, too. It reads the tree. On a board for each value, nobody knows
// which values there were.
func (c *core) lookForLoss(ctx context.Context, s kv.Store) error {
	if c.many {
		return nil
	}
	now := c.host.DB().Now()
	tree := c.tree("", now)
	err := tree.Scan(ctx, s, func([]string) error { return nil })
	lost, failed := tree.Distrust(ctx, s, err)
	if lost != 0 {
		c.losses.note(boardKey{"", c.per.begin(now)})
		return nil
	}
	return c.failure(cmp.Or(failed, err))
}

var _ plug.Finisher = (*core)(nil)

// Finish fills the trees that have lost a part.
func (c *core) Finish(ctx context.Context, s kv.Store, _ plug.Steps) error {
	if err := c.lookForLoss(ctx, s); err != nil {
		return err
	}
	lost := c.losses.take()
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

// lossTries bounds how often a board that loses part after part is filled.
const lossTries = 3

// withAllIfLost does work with ids. If the board has lost a part, it does work with all records
// that belong on the board, for the epoch lost of its tree.
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
