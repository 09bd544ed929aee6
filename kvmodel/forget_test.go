package kvmodel_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func newForgetful(db *kvmodel.DB) *articles {
	r := kvmodel.NewRecords(db, kvmodel.Schema[article, string]{
		Name: "Article", Version: 1, History: 50, Forget: true,
		ID:    func(a *article) string { return a.ID },
		SetID: func(a *article, id string) { a.ID = id },
		Key:   kvmodel.StringKey[string](),
		Codec: asJSON[article]{},
	})
	return &articles{r, db, kvmodel.NewHistory(r)}
}

func TestForget_ADeletionTakesTheHistoryAlong(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		as := newForgetful(closing(t, open(t, s)))
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
		if diff := cmp.Diff([]string{"4 new"}, textsOf(t, ctx, as, "a", 10)); diff != "" {
			t.Errorf("of the record that was made again (-want +got)\n%s", diff)
		}
	})
}

// The record is made again, and its first body is in the history, before the history of
// the one that was deleted goes.
func TestForget_WhatIsMadeAgainKeepsItsHistory(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		as := newForgetful(closing(t, open(t, s)))
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
