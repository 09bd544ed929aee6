package kvmodel_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func spoil(t *testing.T, ctx context.Context, s kv.Store, key string, at, n int) {
	t.Helper()
	got, err := kv.One(ctx, s, kv.OpGet(key))
	must(t, err)
	value := bytes.Clone(got.Value)
	for i := range value[at : at+n] {
		value[at+i] ^= 0xda
	}
	_, err = kv.One(ctx, s, kv.OpSet(key, value))
	must(t, err)
}

func spoilBoth(t *testing.T, ctx context.Context, s kv.Store, key string, at, n int) {
	t.Helper()
	got, err := kv.One(ctx, s, kv.OpGet(key))
	must(t, err)
	spoil(t, ctx, s, key, at, n)
	spoil(t, ctx, s, key, len(got.Value)/2+at, n)
}

// One process has died with two lines in its journal, and a part of that is damaged.
func TestDamage_AJournalCostsNoMoreThanItsLines(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*testing.T, context.Context, kv.Store, string, int, int)
		class string
		at, n int
		ids   []string // returned by All at first
		heads int      // remaining heads
	}{
		"a line":   {spoil, "line", 0, 8, []string{"a", "n0", "n2"}, 1},
		"the head": {spoilBoth, "out", 3, 4, []string{"a", "n0", "n1", "n2"}, 1},
		"its name": {spoilBoth, "procs", 3, 1, []string{"a", "n0"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
				dead := start(t, plain(mem))
				must(t, dead.Create(ctx, &note{ID: "a", Text: "x", Code: "a"}))
				wait(10 * time.Second)
				must(t, dead.Create(ctx, &note{ID: "n1", Text: "x", Code: "c1"}))
				must(t, dead.Create(ctx, &note{ID: "n2", Text: "x", Code: "c2"}))
				dead.life.kill()
				_ = dead.db.Close(ctx)
				key := longest(t, ctx, mem, keys(mem, test.class))
				test.spoil(t, ctx, mem, key, test.at, test.n)

				p := start(t, plain(mem)).ends(t)
				must(t, p.Create(ctx, &note{ID: "n0", Text: "x", Code: "c0"}))
				ids, err := seen(ctx, p.notes)
				wantSame(t, test.ids, ids, "all")
				wantKeys(t, "all", err, key)
				wantKeys(t, "rebuild", p.Rebuild(ctx), key)
				p.finds(t, ctx, "c1")
				wait(2 * time.Minute)
				wantSame(t, 1, p.db.Stats().Failures["corrupt"], "times told")
				if _, err := p.byCode.Find(ctx, "c1"); !errors.Is(err, kvmodel.ErrNeedsRebuild) {
					t.Errorf("find: got %v, want an ErrNeedsRebuild", err)
				}
				must(t, p.Rebuild(ctx))
				wait(2 * time.Hour)
				p.finds(t, ctx, "c2")
				wantSame(t, test.ids, allIDs(t, ctx, p.notes), "all")
				wantLen(t, test.heads, keys(mem, "out"), "heads left")
			})
		})
	}
}

// A process whose name is damaged in the list continues in another journal, and is repaired when it
// dies.
func TestDamage_AProcessWhoseNameIsLostGoesOnInAnotherJournal(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p, other := start(t, plain(mem)).ends(t), start(t, plain(mem)).ends(t)
		createNotes(t, ctx, p.notes, 0, 3)
		spoilBoth(t, ctx, mem, "procs", 3, 1)
		wait(2 * time.Minute)
		createNotes(t, ctx, p.notes, 3, 3)
		p.life.kill()
		wantLen(t, 6, allIDs(t, ctx, other.notes), "all")
		if _, err := other.byCode.Find(ctx, "c0"); !errors.Is(err, kvmodel.ErrNeedsRebuild) {
			t.Errorf("find: got %v, want an ErrNeedsRebuild", err)
		}
	})
}

// A process rewrites its own damaged head.
func TestDamage_ALivingProcessMendsItsHead(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p, other := start(t, plain(mem)).ends(t), start(t, plain(mem)).ends(t)
		createNotes(t, ctx, p.notes, 0, 3)
		for _, key := range keys(mem, "out") {
			spoil(t, ctx, mem, key, 2, 4)
		}
		for i := range 10 {
			createNotes(t, ctx, p.notes, 3+i, 1)
			wait(5 * time.Second)
		}
		wantLen(t, 13, allIDs(t, ctx, other.notes), "all")
		if failures := p.db.Stats().Failures; len(failures) > 0 {
			t.Errorf("failures: %v", failures)
		}
	})
}

func longest(t *testing.T, ctx context.Context, s kv.Store, keys []string) (key string) {
	most := -1
	for _, k := range keys {
		got, err := kv.One(ctx, s, kv.OpGet(k))
		must(t, err)
		if len(got.Value) > most {
			key, most = k, len(got.Value)
		}
	}
	return key
}
