package ranking

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// exact is a board by a field. The records hold the scores, and the write path
// keeps the board in step with them: a record on the board has its entry at every
// moment.
type exact[T any] struct{ *core[T] }

var _ plug.Index[struct{}] = exact[struct{}]{}

// Prepare adds the entry that the record will have.
func (x exact[T]) Prepare(ctx context.Context, s kv.Store, m *plug.Move) error {
	return x.eachPlace(ctx, s, m.Gained, func(s kv.Store, p place) error {
		if err := p.err(); err != nil {
			return err
		}
		return x.insert(ctx, s, p, m.ID, stateIn(p.by, m.Was, m.Base), m.Rev)
	})
}

func (x exact[T]) insert(ctx context.Context, s kv.Store, p place, id string, known keytree.State, ver uint64) error {
	due, err := x.now(p.by).Insert(ctx, s, id, known, p.score, ver)
	return x.settle(ctx, s, due, err)
}

func (x exact[T]) remove(ctx context.Context, s kv.Store, p place, id string, now keytree.State) error {
	due, err := x.now(p.by).Remove(ctx, s, id, p.score, now)
	return x.settle(ctx, s, due, err)
}

// Beside does nothing: the entry is added before the commit.
func (x exact[T]) Beside(context.Context, kv.Store, *plug.Move) error { return nil }

// After removes the old entry, unless it is in one leaf with the new one: then the
// next change there removes it.
func (x exact[T]) After(ctx context.Context, s kv.Store, m *plug.Move) error {
	return x.eachPlace(ctx, s, m.Lost, func(s kv.Store, p place) error {
		now := stateIn(p.by, m.Is, m.Rev)
		if p.wrong != "" || now.In && x.now(p.by).SameLeaf(m.ID, p.score, now.Score) {
			return nil
		}
		return x.remove(ctx, s, p, m.ID, now)
	})
}

// Repair adds the entry that rec should have and removes those it has outlived.
func (x exact[T]) Repair(ctx context.Context, s kv.Store, rec *plug.Seen[T], places []string) error {
	return x.eachPlace(ctx, s, places, func(s kv.Store, p place) error {
		now := stateIn(p.by, rec.Places, rec.Rev)
		switch {
		case p.wrong != "":
			return nil
		case rec.Holds(p.String()):
			return x.insert(ctx, s, p, rec.ID, now, rec.Rev)
		default:
			return x.remove(ctx, s, p, rec.ID, now)
		}
	})
}

// Check reports if rec has no entry.
func (x exact[T]) Check(ctx context.Context, s kv.Store, rec *plug.Seen[T]) ([]string, error) {
	var wrong []string
	err := x.eachPlace(ctx, s, rec.Places, func(s kv.Store, p place) error {
		has, err := x.now(p.by).Has(ctx, s, rec.ID, stateIn(p.by, rec.Places, rec.Rev))
		if err == nil && !has {
			wrong = append(wrong, fmt.Sprintf("%s.%s: %s has no entry at %s", x.host.Model(), x.name, rec.ID, p))
		}
		return err
	})
	return wrong, err
}
