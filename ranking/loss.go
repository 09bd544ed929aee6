package ranking

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A tree that has lost a part is rebuilt from all records, whether a rebuild of the
// board or one of the data class has come across it.

// losses are the trees that a rebuild of the data class has found to have lost a part.
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

// take returns the trees and forgets them.
func (l *losses) take() []boardKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Collect(maps.Keys(l.of))
	l.of = nil
	return all
}

// noteLoss notes the tree of a value in the period that holds at if it has lost a part.
func (c *core) noteLoss(by string, at time.Time) {
	if c.tree(by, at).Lost() {
		c.losses.note(boardKey{by, c.per.begin(at)})
	}
}

// lookForLoss notes the tree of a board if it has lost a node to which no record has led: one
// whose records are gone, too. It reads the tree. On a board for each value, nobody knows which
// values there were.
func (c *core) lookForLoss(ctx context.Context, s kv.Store) error {
	if c.many {
		return nil
	}
	now := c.host.DB().Now()
	err := c.tree("", now).Each(ctx, s, func([]string) error { return nil })
	if errors.Is(err, kvmodel.ErrNeedsRebuild) {
		c.losses.note(boardKey{"", c.per.begin(now)})
		return nil
	}
	return c.failure(err)
}

// Finish rebuilds the trees that have lost a part.
func (c *core) Finish(ctx context.Context, s kv.Store, _ plug.Steps) error {
	if err := c.lookForLoss(ctx, s); err != nil {
		return err
	}
	lost := c.losses.take()
	if len(lost) == 0 {
		return nil
	}
	ids, err := c.allOf(ctx, lost)
	if err != nil {
		return err
	}
	return c.failure(kv.Join(kv.Each(ctx, s, lost, func(s kv.Store, _ int, key boardKey) error {
		return c.tree(key.by, c.time(key.at)).Rebuild(ctx, s, ids[key.by], true)
	})...))
}

// allOf returns, by value, the id texts of all records that belong on the boards of
// trees.
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

// withAllIfLost does work with ids. If the board has lost a part, or work finds that, it
// does work with all records on the board.
func (p part) withAllIfLost(ctx context.Context, ids []string, work func(ids []string, all bool) error) error {
	tree := p.tree(p.by, p.when())
	lost, err := tree.HasLost(ctx, p.host.Store())
	if err != nil {
		return p.failure(err)
	}
	if !lost {
		if err := work(ids, false); err != nil || !tree.Lost() {
			return err
		}
	}
	all, err := p.allOf(ctx, []boardKey{{by: p.by}})
	if err != nil {
		return p.failure(err)
	}
	return work(all[p.by], true)
}
