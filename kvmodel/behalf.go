package kvmodel

import (
	"context"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// behalf is the DB on behalf of a model or one of its indexes: background errors are logged under
// their names, and trips are attributed to them.
type behalf struct {
	*base
	name, index string // of the model; index is "" for the model itself
	relaxed     bool   // writes need not wait for the disk
}

// of returns b for the index of that name.
func (b behalf) of(index string) behalf { b.index = index; return b }

// Begin says that a verb begins; see plug.Host.
func (b behalf) Begin(ctx context.Context, verb string) (context.Context, func()) {
	if b.relaxed {
		ctx = kv.Relaxed(ctx)
	}
	return b.begin(ctx, kv.Work{Model: b.name, Index: b.index, Verb: verb})
}

// upkeep returns f with its trips attributed to upkeep and its errors naming the model and the
// index.
func (b behalf) upkeep(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, end := b.Begin(ctx, "upkeep")
		defer end()
		return work.About(b.name, b.index, f(ctx))
	}
}

func (b behalf) Later(ctx context.Context, f func(context.Context) error) {
	b.base.Later(ctx, b.upkeep(f))
}

func (b behalf) Soon(f func(context.Context) error) bool { return b.base.Soon(b.upkeep(f)) }

func (b behalf) Surely(ctx context.Context, f func(context.Context) error) error {
	return b.base.Surely(ctx, b.upkeep(f))
}

func (b behalf) Latch(f func(context.Context) error) plug.Latch { return b.base.Latch(b.upkeep(f)) }
