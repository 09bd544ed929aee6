package ranking

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// exact is a board by a field: the write path keeps it in step with the records,
// which say themselves what score they have. A record that is in has its entry
// at every moment.
type exact[T any] struct{ *core[T] }

var _ plug.Index[struct{}] = exact[struct{}]{}

// Prepare puts in the entry that the record is to have.
func (x exact[T]) Prepare(ctx context.Context, s kv.Store, m *plug.Move) error {
	return x.eachPlace(ctx, s, m.Gained, func(s kv.Store, p place) error {
		if err := p.err(); err != nil {
			return err
		}
		return x.insert(ctx, s, p, m.ID, stateIn(p.by, m.Was, m.Base), m.Rev)
	})
}

func (x exact[T]) insert(ctx context.Context, s kv.Store, p place, id string, known keytree.State, ver uint64) error {
	due, err := x.tree(p.by, x.host.DB().Now()).Insert(ctx, s, id, known, p.score, ver)
	if err != nil {
		return err
	}
	return x.settle(ctx, s, due)
}

func (x exact[T]) remove(ctx context.Context, s kv.Store, p place, id string, now keytree.State) error {
	due, err := x.tree(p.by, x.host.DB().Now()).Remove(ctx, s, id, p.score, now)
	if err != nil {
		return err
	}
	return x.settle(ctx, s, due)
}

// Beside does nothing: an entry comes before the commit.
func (x exact[T]) Beside(context.Context, kv.Store, *plug.Move) error { return nil }

// After takes out the old entry, unless it stands in one leaf with the new one:
// then it goes with the next change there.
func (x exact[T]) After(ctx context.Context, s kv.Store, m *plug.Move) error {
	return x.eachPlace(ctx, s, m.Lost, func(s kv.Store, p place) error {
		now := stateIn(p.by, m.Is, m.Rev)
		if p.wrong != "" || now.In && x.tree(p.by, x.host.DB().Now()).SameLeaf(m.ID, p.score, now.Score) {
			return nil
		}
		return x.remove(ctx, s, p, m.ID, now)
	})
}

// Repair puts in the entry that rec should have, and takes out those that it has
// outlived.
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

// Check reports that rec has no entry.
func (x exact[T]) Check(ctx context.Context, s kv.Store, rec *plug.Seen[T]) ([]string, error) {
	var wrong []string
	err := x.eachPlace(ctx, s, rec.Places, func(s kv.Store, p place) error {
		has, err := x.tree(p.by, x.host.DB().Now()).Has(ctx, s, rec.ID, stateIn(p.by, rec.Places, rec.Rev))
		if err == nil && !has {
			wrong = append(wrong, fmt.Sprintf("%s.%s: %s has no entry at %s", x.host.Model(), x.name, rec.ID, p))
		}
		return err
	})
	return wrong, err
}
