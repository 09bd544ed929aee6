package kvmodel_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func ten(t *testing.T, ctx context.Context, mem *memkv.Store) *process {
	p := start(t, plain(mem)).ends(t)
	for i := range 10 {
		must(t, p.Create(ctx, &note{ID: fmt.Sprint("n", i), Text: "x", Code: fmt.Sprint("c", i)}))
	}
	must(t, p.db.Close(ctx))
	return start(t, plain(mem)).ends(t)
}

func TestDamage_OfOneCopyOfTheBuiltItemIsMendedByTheNextProcessThatWrites(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p := ten(t, ctx, mem)
		for i := range 4 {
			spoil(t, ctx, mem, "built:Note", 5, 20)
			p.finds(t, ctx, "c1")
			p = start(t, plain(mem)).ends(t)
			must(t, p.Create(ctx, &note{ID: fmt.Sprint("m", i), Text: "y", Code: fmt.Sprint("d", i)}))
			got, err := kv.One(ctx, mem, kv.OpGet("built:Note"))
			must(t, err)
			if _, err := frame.Either(got.Value); err != nil {
				t.Errorf("after a write: %v", err)
			}
		}
	})
}

func TestDamage_OfTheBuiltItemIsLikeItsLoss(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p := ten(t, ctx, mem)
		const key = "built:Note"
		spoilBoth(t, ctx, mem, key, 5, 20)
		_, err := p.byCode.Find(ctx, "c1")
		wantErr(t, err, kvmodel.ErrNeedsRebuild)
		wantKeys(t, "find", err, key)
		if _, err := p.Get(ctx, "n1"); err != nil {
			t.Errorf("get: %v", err)
		}
		must(t, p.Delete(ctx, "n2"))
		must(t, p.Create(ctx, &note{ID: "new", Text: "x", Code: "cnew"}))
		_, err = p.byCode.Find(ctx, "c1")
		wantErr(t, err, kvmodel.ErrNeedsRebuild)
		must(t, p.Rebuild(ctx))
		for _, code := range []string{"c1", "cnew"} {
			p.finds(t, ctx, code)
		}
	})
}

func TestDamage_OfTheHeadOfAnEnumerationWithOneSegmentCostsNothing(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p := ten(t, ctx, mem)
		const key = "ids:Note"
		for range 2 {
			before, _ := seen(ctx, p.notes)
			spoil(t, ctx, mem, key, 2, 10)
			ids, err := seen(ctx, p.notes)
			wantKeys(t, "all", err, key)
			if !slices.Equal(ids, before) {
				t.Errorf("all: %q, want %q", ids, before)
			}
			p.finds(t, ctx, "c1")
			must(t, p.Create(ctx, &note{ID: fmt.Sprint("new", len(ids)), Text: "x", Code: fmt.Sprint("new", len(ids))}))
			must(t, p.db.Flush(ctx))
			must(t, p.Rebuild(ctx))
			if now, err := seen(ctx, p.notes); len(now) != len(ids)+1 || err != nil {
				t.Errorf("all: %q, %v; want %d", now, err, len(ids)+1)
			}
		}
	})
}

func TestDamage_OfASegmentOfTheEnumerationIsNamedAndLeavesTheRest(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p := ten(t, ctx, mem)
		const key = "ids:Note#0"
		spoil(t, ctx, mem, key, 46, 2)
		ids, err := seen(ctx, p.notes)
		wantKeys(t, "all", err, key)
		if len(ids) != 9 {
			t.Errorf("all: %q, want nine of ten", ids)
		}
		must(t, p.Create(ctx, &note{ID: "new", Text: "x", Code: "new"}))
		wantKeys(t, "rebuild", p.Rebuild(ctx), key)
		p.finds(t, ctx, "c1")
	})
}
