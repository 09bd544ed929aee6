package kvmodel_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestForget_ADeletionTakesTheHistoryAlong(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		as := newArticles(closing(t, open(t, s)), 50, true)
		for _, text := range []string{"one", "two"} {
			must(t, as.write(ctx, "a", text))
		}
		must(t, as.Delete(ctx, "a"))
		must(t, as.db.Flush(ctx))
		if r, err := kv.One(ctx, storeOf(s), kv.OpGet("h:Article:a")); err == nil {
			t.Errorf("a history of %d bytes is left", len(r.Value))
		}
		_, err := as.History.Restore(ctx, "a", 2)
		wantErr(t, err, kv.ErrNotFound)
		must(t, as.write(ctx, "a", "new"))
		wantSame(t, []string{"4 new"}, textsOf(t, ctx, as, "a", 10), "of the record that was made again")
	})
}

// The record is made again, and its first body is in the history, before the history of
// the one that was deleted goes.
func TestForget_WhatIsMadeAgainKeepsItsHistory(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		as := newArticles(closing(t, open(t, s)), 50, true)
		for i := range 20 {
			id := fmt.Sprint("a", i)
			must(t, as.write(ctx, id, "old"))
			must(t, as.Delete(ctx, id))
			must(t, as.write(ctx, id, "new")) // A4 of the deletion is under way.
			must(t, as.db.Flush(ctx))
			if got := textsOf(t, ctx, as, id, 1); !slices.Equal(got, []string{"3 new"}) {
				t.Errorf("the history is %q", got)
			}
		}
	})
}
