package ranking

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Verify reads the tree of the values and reports problems: see Board. It also reports given values
// that are missing.
func (v *Values[V]) Verify(ctx context.Context, values ...V) (Report, error) {
	ctx, end := v.tree.db.Begin(ctx, "Verify")
	defer end()
	return v.tree.reader().verify(ctx, v.texts(values))
}

func (v *Values[V]) texts(values []V) []string { return kv.Texts(values, v.key.Text) }

// Mend reports like Verify and repairs: see Board. The given values catch up with their counts.
func (v *Values[V]) Mend(ctx context.Context, values ...V) (Report, error) {
	if err := v.tree.db.Writable(); err != nil {
		return Report{}, v.tree.failure(err)
	}
	ctx, end := v.tree.db.Begin(ctx, "Mend")
	defer end()
	if err := v.tree.followThere(ctx, v.texts(values)); err != nil {
		return Report{}, err
	}
	return v.tree.reader().mend(ctx, v.texts(values), 0, v.tree.clear)
}

// Refresh makes Len exact, unless values change while it runs. It reads every node.
func (v *Values[V]) Refresh(ctx context.Context) error {
	ctx, end := v.tree.db.Begin(ctx, "Refresh")
	defer end()
	return v.tree.reader().refresh(ctx)
}

// Rebuild copies the tree of the values into new nodes, without empty ones: see Board. If the store
// lost a part of the tree, use the Rebuild of the records instead.
func (v *Values[V]) Rebuild(ctx context.Context) error {
	ctx, end := v.tree.db.Begin(ctx, "Rebuild")
	defer end()
	return v.tree.reader().rebuild(ctx, nil, 0)
}

// Stats returns this process's statistics about the tree of the values.
func (v *Values[V]) Stats() Stats { return v.tree.reader().stats() }
