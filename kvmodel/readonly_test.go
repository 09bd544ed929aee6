package kvmodel_test

import (
	"context"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestReadOnly_ItLooksAgainWhichIndexesMayBeRead(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		writer := start(t, plain(mem)).ends(t)
		must(t, writer.Create(ctx, &note{ID: "a", Text: "x", Code: "c"}))
		reader := start(t, plain(mem), kvmodel.ReadOnly()).ends(t)
		_, err := reader.byCode.Find(ctx, "c")
		must(t, err)
		older := open(t, shared{plain(mem)})
		must(t, kvmodel.NewRecords(older, noteSchema()).Create(ctx, &note{ID: "b", Text: "x"}))
		wait(15 * time.Second)
		_, err = reader.byCode.Find(ctx, "c")
		wantErr(t, err, kvmodel.ErrNeedsRebuild)
		wantErr(t, reader.Rebuild(ctx), kvmodel.ErrReadOnly)
		must(t, older.Close(ctx))
		must(t, writer.db.Close(ctx))
		again := start(t, plain(mem)).ends(t)
		must(t, again.Rebuild(ctx))
		_, err = reader.byCode.Find(ctx, "c")
		must(t, err)
	})
}

func TestReadOnly_WhatCannotBeAskedAgainIsNotBelieved(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		writer := start(t, plain(mem)).ends(t)
		must(t, writer.Create(ctx, &note{ID: "a", Text: "x", Code: "c"}))
		reader := start(t, plain(mem), kvmodel.ReadOnly()).ends(t)
		find := func(ctx context.Context) error { _, err := reader.byCode.Find(ctx, "c"); return err }
		must(t, find(ctx))
		warm := cost(t, ctx, find)
		reader.life.kill()
		wait(time.Minute)
		reader.life.dead.Store(false)
		if asked := cost(t, ctx, find); asked.Trips != warm.Trips+1 {
			t.Errorf("it took %v, want one trip more than %v", asked, warm)
		}
	})
}

func TestReadOnly_TheDeadAreLeftToOthers(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		dieUnheard(t, ctx, aloneOn(mem))
		before := keys(mem, journals...)
		reader := start(t, aloneOn(mem), kvmodel.ReadOnly()).ends(t)
		var h heard
		h.listen(reader.notes)
		_, err := reader.Get(ctx, "a")
		must(t, err)
		wait(2 * time.Hour)
		wantSame(t, before, keys(mem, journals...), "journals")
		wantLen(t, 0, h.all(), "heard")
		wantErr(t, reader.db.Repair(ctx), kvmodel.ErrReadOnly)
	})
}
