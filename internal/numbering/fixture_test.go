package numbering_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// answer answers a trip, which it may also pass on to next.
type answer func(ctx context.Context, ops []kv.Op, next func([]kv.Op) error) error

// tampered is a store whose trips a test answers.
type tampered struct {
	kv.Store
	with answer
}

func tamper(s kv.Store, with answer) kv.Store { return &tampered{s, with} }

func (s *tampered) Do(ctx context.Context, ops []kv.Op) error {
	return s.with(ctx, ops, func(ops []kv.Op) error { return s.Store.Do(ctx, ops) })
}

// cost returns what f asked of the store.
func cost(t *testing.T, ctx context.Context, f func(ctx context.Context) error) kv.Cost {
	t.Helper()
	ctx, m := kv.Metered(ctx)
	if err := f(ctx); err != nil {
		t.Error(err)
	}
	return m.Cost()
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got error %v, want one that is %q", err, want)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
