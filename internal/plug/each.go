package plug

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Texts returns the text of each of values.
func Texts[V any](values []V, text func(V) string) []string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = text(v)
	}
	return texts
}

// Each does work for values side by side, as kv.Together does, and returns an
// error for each, in their order.
func Each[V any](ctx context.Context, s kv.Store, values []V, work func(s kv.Store, i int, v V) error) []error {
	works := make([]func(kv.Store) error, len(values))
	for i, v := range values {
		works[i] = func(s kv.Store) error { return work(s, i, v) }
	}
	return kv.Together(ctx, s, works...)
}
