package kvmodel

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/internal/work"
)

// behalf is the DB as a model uses it, or one of its indexes: what fails in the
// background is logged under their names.
type behalf struct {
	*DB
	model, index string // index is "" for the model itself
}

// of returns f with errors that name the model and the index.
func (b behalf) of(f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error { return work.About(b.model, b.index, f(ctx)) }
}

func (b behalf) Later(f func(context.Context) error)  { b.DB.Later(b.of(f)) }
func (b behalf) Soon(f func(context.Context) error)   { b.DB.Soon(b.of(f)) }
func (b behalf) Surely(f func(context.Context) error) { b.DB.Surely(b.of(f)) }
