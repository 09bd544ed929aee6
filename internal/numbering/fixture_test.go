package numbering_test

import (
	"context"
	"errors"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

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
