package kvmodel_test

import (
	"context"
	"maps"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestReadOnly_ItLooksAgainWhichIndexesMayBeRead(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		writer := start(t, plain(mem)).ends(t)
		must(t, writer.Create(ctx, &note{ID: "a", Text: "x", Code: "c"}))
		reader := start(t, plain(mem), kvmodel.ReadOnly()).ends(t)
		proof.Done(t)(reader.byCode.Find(ctx, "c"))
		older := open(t, shared{plain(mem)})
		must(t, kvmodel.NewRecords(older, noteSchema()).Create(ctx, &note{ID: "b", Text: "x"}))
		wait(15 * time.Second)
		proof.Ends(t, kvmodel.ErrNeedsRebuild)(reader.byCode.Find(ctx, "c"))
		wantErr(t, reader.Rebuild(ctx), kvmodel.ErrReadOnly)
		must(t, older.Close(ctx))
		must(t, writer.db.Close(ctx))
		again := start(t, plain(mem)).ends(t)
		must(t, again.Rebuild(ctx))
		proof.Done(t)(reader.byCode.Find(ctx, "c"))
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
		proof.Done(t)(reader.Get(ctx, "a"))
		wait(2 * time.Hour)
		wantSame(t, before, keys(mem, journals...), "journals")
		wantLen(t, 0, h.all(), "heard")
		wantErr(t, reader.db.Repair(ctx), kvmodel.ErrReadOnly)
	})
}

// relaxations is a store that counts the writes that need not wait for the disk, and the others.
type relaxations struct {
	kv.Store
	relaxed, others atomic.Int64
}

func (s *relaxations) count(ctx context.Context) {
	if kv.IsRelaxed(ctx) {
		s.relaxed.Add(1)
	} else {
		s.others.Add(1)
	}
}

func (s *relaxations) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if ops[i].Kind != kv.Get {
			s.count(ctx)
			break
		}
	}
	return s.Store.Do(ctx, ops)
}

func (s *relaxations) Powers() kv.Powers {
	p := kv.PowersOf(s.Store)
	inner := p.Atomic
	p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
		s.count(ctx)
		return inner(ctx, f)
	}
	return p
}

func TestRelaxed_IsEveryChangeOfARelaxedModelAndUnderARelaxedContext(t *testing.T) {
	var hits *index.Counter[string]
	verbs := maps.Clone(writes)
	verbs["Hit"] = func(ctx context.Context, _ *notes) error { _, err := hits.Hit(ctx, "a"); return err }
	for verb, change := range verbs {
		for name, test := range map[string]struct {
			model, relaxed bool
			under          func(context.Context) context.Context
		}{
			"neither":   {false, false, func(ctx context.Context) context.Context { return ctx }},
			"the model": {true, true, func(ctx context.Context) context.Context { return ctx }},
			"the call":  {false, true, kvmodel.Relaxed},
		} {
			file, err := boltkv.Open(filepath.Join(t.TempDir(), "file"), boltkv.Options{Durability: boltkv.Unsynced})
			must(t, err)
			s := &relaxations{Store: file}
			schema := simpleNotes()
			schema.Relaxed = test.model
			schema.Counters = []kvmodel.CounterOf[note]{{Name: "Hits", Set: func(*note, int64) {}}}
			all := kvmodel.NewRecords(open(t, s), schema)
			hits = index.NewCounter(all, "Hits")
			must(t, all.Create(t.Context(), &note{ID: "a", Text: "a"}))
			s.relaxed.Store(0)
			s.others.Store(0)
			must(t, change(test.under(t.Context()), all))
			if relaxed, others := s.relaxed.Load(), s.others.Load(); relaxed > 0 != test.relaxed || others > 0 == test.relaxed {
				t.Errorf("%s, %s is relaxed: %d relaxed writes and %d others", verb, name, relaxed, others)
			}
		}
	}
}

// lateStore counts the requests after it was closed.
type lateStore struct {
	kv.Store
	closed atomic.Bool
	late   atomic.Int64
}

func (s *lateStore) Powers() kv.Powers { return kv.PowersOf(s.Store) }

func (s *lateStore) Do(ctx context.Context, ops []kv.Op) error {
	if s.closed.Load() {
		s.late.Add(1)
	}
	return s.Store.Do(ctx, ops)
}

func (s *lateStore) Close() error {
	s.closed.Store(true)
	return nil
}

func TestDB_Close_NothingIsAskedOfTheStoreAfterwards(t *testing.T) {
	var stores []*lateStore
	for range 500 {
		s := &lateStore{Store: memkv.New(memkv.Options{})}
		stores = append(stores, s)
		ms := openMembers(s)
		ms.OnChange(func(context.Context, kvmodel.Change[member, string]) error { return nil })
		must(t, ms.Create(t.Context(), &member{ID: "1", Email: "a@example.com"}))
		must(t, ms.db.Close(t.Context()))
	}
	time.Sleep(50 * time.Millisecond) // for goroutines that had not started
	for i, s := range stores {
		if late := s.late.Load(); late > 0 {
			t.Fatalf("store %d: %d trips after Close", i, late)
		}
	}
}

// Work that needs a journal line is refused, like a change of a record.
func TestIntent_DoAfterCloseBeginsNothing(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		db, calls := open(t, s), 0
		intent := kvmodel.NewIntent(db, "move", func(context.Context, move) error { calls++; return nil })
		must(t, intent.Do(ctx, move{}))
		must(t, db.Close(ctx))
		wantErr(t, intent.Do(ctx, move{}), kv.ErrUnavailable)
		proof.Equal(t, calls, 1, "calls")
	})
}
