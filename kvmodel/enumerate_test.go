package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func allIDs(t testing.TB, ctx context.Context, r *notes) []string {
	t.Helper()
	var ids []string
	for v, err := range r.All(ctx) {
		must(t, err)
		ids = append(ids, v.ID)
	}
	slices.Sort(ids)
	return ids
}

func createNotes(t testing.TB, ctx context.Context, r *notes, first, n int) (ids []string) {
	t.Helper()
	var vs []*note
	for i := range n {
		ids = append(ids, fmt.Sprintf("note-%05d", first+i))
		vs = append(vs, &note{ID: ids[i], Text: "x"})
	}
	must(t, r.CreateMulti(ctx, vs))
	return ids
}

func keysWith(mem *memkv.Store, prefix string) (n int) {
	for _, key := range mem.Keys() {
		if strings.HasPrefix(key, prefix) {
			n++
		}
	}
	return n
}

func TestAll_SeesEachRecordOnceWhereverItsIDStands(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		db := open(t, shared{s})
		r := kvmodel.NewRecords(db, noteSchema())
		wantLen(t, 0, append(allIDs(t, ctx, r), eachOf(t, ctx, r, kvmodel.Walk{})...), "without records")
		want := createNotes(t, ctx, r, 0, 250)
		// While the lines are open the ids are in the journal.
		shown := func(when string) {
			t.Helper()
			wantSame(t, want, allIDs(t, ctx, r), "All, %s they are archived", when)
			wantSame(t, want, eachOf(t, ctx, r, kvmodel.Walk{}), "Each, %s they are archived", when)
		}
		shown("before")
		must(t, db.Close(ctx))

		db = closing(t, open(t, s))
		r = kvmodel.NewRecords(db, noteSchema())
		want = append(want, createNotes(t, ctx, r, 250, 50)...)
		// A reused id is there twice.
		must(t, r.Delete(ctx, want[7]))
		must(t, r.Delete(ctx, want[8]))
		must(t, r.Create(ctx, &note{ID: want[7], Text: "again"}))
		want = slices.Delete(want, 8, 9)
		shown("after")
	})
}

func TestAll_AStoreThatFailsIsAnErrorAndNotTheEnd(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		m := &mortal{Store: s}
		r := kvmodel.NewRecords(open(t, m), noteSchema())
		createNotes(t, ctx, r, 0, 3)
		m.kill()
		var err error
		n := 0
		for _, err = range r.All(ctx) {
			n++
		}
		wantErr(t, err, kv.ErrUnavailable)
		proof.Equal(t, n, 1, "results")
	})
}

func TestAll_CanBeLeftEarly(t *testing.T) {
	ctx := t.Context()
	r := kvmodel.NewRecords(closing(t, open(t, memkv.New(memkv.Options{}))), noteSchema())
	createNotes(t, ctx, r, 0, 300)
	n := 0
	for _, err := range r.All(ctx) {
		must(t, err)
		if n++; n == 5 {
			break
		}
	}
	proof.Equal(t, n, 5, "records")
}

func TestEnumeration_SplitsAsItGrows(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		mem := memkv.New(memkv.Options{})
		p, ok := s.(powers)
		if !ok {
			return // it has none
		}
		s = powers{mem, p.with}
		const n = 3000
		for i := 0; i < n; i += 600 {
			db := open(t, shared{s})
			createNotes(t, ctx, kvmodel.NewRecords(db, noteSchema()), i, 600)
			must(t, db.Close(ctx))
			if got := keysWith(mem, "ids:"); i == 0 && got != 2 {
				t.Errorf("600 ids are in %d keys, want 2", got)
			}
		}
		db := closing(t, open(t, s))
		r := kvmodel.NewRecords(db, noteSchema())
		for range 2 { // readers fold it
			wantSame(t, n, len(allIDs(t, ctx, r)), "records")
			must(t, db.Flush(ctx))
		}
		// 15 bytes per id, at most 24 KiB per segment.
		if got := keysWith(mem, "ids:"); got < 3 || got > 8 {
			t.Errorf("%d ids are in %d keys, want some", n, got)
		}
	})
}

func seen(ctx context.Context, r *notes) (ids []string, err error) {
	for v, e := range r.All(ctx) {
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		ids = append(ids, v.ID)
	}
	slices.Sort(ids)
	return ids, err
}

// kindsOn runs f on a store with transactions and one without, and passes the memory store below.
func kindsOn(t *testing.T, f func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store)) {
	for _, kind := range []string{"atomic", "plain"} {
		t.Run(kind, func(t *testing.T) {
			mem := memkv.New(memkv.Options{})
			f(t, t.Context(), mem, shared{kinds[kind](mem)})
		})
	}
}

func longList(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) (ids, keys []string) {
	t.Helper()
	v := deploy(t, s, "Code")
	ids = createNotes(t, ctx, v.notes, 0, 2000)
	v.undeploy(t)
	for range 2 { // readers split it
		v := deploy(t, s, "Code")
		allIDs(t, ctx, v.notes)
		must(t, v.db.Flush(ctx))
		v.undeploy(t)
	}
	keys = slices.DeleteFunc(mem.Keys(), func(key string) bool { return !strings.HasPrefix(key, "ids:") || key == "ids:Note#0" })
	if slices.Sort(keys); len(keys) < 3 {
		t.Fatalf("keys %q", keys)
	}
	return ids, keys
}

func TestLost_WhateverKeyOfTheEnumerationIsGoneIsNoEnd(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	s := shared{plain(mem)}
	want, keys := longList(t, ctx, mem, s)
	for i, key := range keys {
		r, err := kv.One(ctx, mem, kv.OpGet(key))
		must(t, err)
		mem.Evict(key)
		v := deploy(t, s, "Code")
		got, err := seen(ctx, v.notes)
		wantErr(t, err, kv.ErrLost)
		if i > 0 && (err == nil || !strings.Contains(err.Error(), key) || len(got) < len(want)/4) {
			t.Errorf("without %s: %d of %d records, %v; want the others, and its name", key, len(got), len(want), err)
		}
		wantErr(t, v.Rebuild(ctx), kv.ErrLost)
		v.undeploy(t)
		proof.Done(t)(kv.One(ctx, mem, kv.OpSet(key, r.Value)))
	}
	v := deploy(t, s, "Code")
	wantSame(t, want, allIDs(t, ctx, v.notes), "with all keys")
	v.undeploy(t)
}

func TestLost_WithoutTheBuiltItemNoIndexCountsAsWhole(t *testing.T) {
	kindsOn(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
		v := deploy(t, s, "Code")
		must(t, v.Create(ctx, &note{ID: "a", Text: "x", Code: "ca"}))
		v.undeploy(t)
		mem.Evict("built:Note")
		v = deploy(t, s, "Code")
		if _, err := v.by["Code"].Find(ctx, "ca"); err != nil && !errors.Is(err, kvmodel.ErrNeedsRebuild) {
			t.Error(err)
		}
		must(t, v.Create(ctx, &note{ID: "b", Text: "x", Code: "cb"}))
		must(t, v.Rebuild(ctx))
		v.finds(t, "Code", "ca", "a")
		v.finds(t, "Code", "cb", "b")
		v.undeploy(t)
	})
}

func TestLost_WithoutItsHeadAndItsBuiltItemAModelIsNotTakenForNew(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	s := shared{plain(mem)}
	v := deploy(t, s, "Code")
	createNotes(t, ctx, v.notes, 0, 3)
	v.undeploy(t)
	mem.Evict("built:Note", "ids:Note")
	v = deploy(t, s, "Code")
	proof.Ends(t, kv.ErrLost)(seen(ctx, v.notes))
	wantErr(t, v.Create(ctx, &note{ID: "new", Text: "x"}), kv.ErrLost)
	proof.Ends(t, kv.ErrLost)(v.by["Code"].Find(ctx, "c"))
	v.undeploy(t)
}

func TestLost_AfterAcceptTheRestIsReadAndWritten(t *testing.T) {
	for name, lost := range map[string]func(keys []string) []string{
		"a segment":          func(keys []string) []string { return keys[1:2] },
		"the head":           func(keys []string) []string { return keys[:1] },
		"the built item":     func([]string) []string { return []string{"built:Note"} },
		"both":               func(keys []string) []string { return []string{keys[0], "built:Note"} },
		"all of the list":    func(keys []string) []string { return keys },
		"the retired":        func([]string) []string { return []string{"ids:Note#0"} },
		"all of what begins": func(keys []string) []string { return append(keys, "built:Note") },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, mem := t.Context(), memkv.New(memkv.Options{})
			s := shared{powers{mem, kv.Powers{Keys: mem.Powers().Keys}}}
			all, keys := longList(t, ctx, mem, s)
			gone := lost(keys)
			mem.Evict(gone...)
			v := deploy(t, s, "Code")
			must(t, v.Accept(ctx))
			got, err := seen(ctx, v.notes)
			must(t, err)
			losesIDs := slices.Contains(gone, keys[1])
			if losesIDs == (len(got) == len(all)) {
				t.Errorf("%d records of %d", len(got), len(all))
			}
			must(t, v.Create(ctx, &note{ID: "new", Text: "x", Code: "c"}))
			must(t, v.db.Flush(ctx))
			must(t, v.Rebuild(ctx))
			v.finds(t, "Code", "c", "new")
			v.undeploy(t)
			v = deploy(t, s, "Code")
			if got, err := seen(ctx, v.notes); err != nil || !slices.Contains(got, "new") {
				t.Errorf("%d records without the new one, %v", len(got), err)
			}
			must(t, v.Accept(ctx))
			v.undeploy(t)
		})
	}
}

func TestEnumeration_RecordsThatAreGoneCostLittle(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := shared{plain(mem)}
		v := deploy(t, s)
		const n, left = 2000, 7
		ids := createNotes(t, ctx, v.notes, 0, n)
		for _, id := range ids[left:] {
			must(t, v.Delete(ctx, id))
		}
		must(t, v.db.Flush(ctx))
		time.Sleep(10 * time.Second)
		var costs []kv.Cost
		for range 4 {
			costs = append(costs, cost(t, ctx, func(ctx context.Context) error {
				got, err := seen(ctx, v.notes)
				wantSame(t, ids[:left], got, "all")
				return err
			}))
			must(t, v.db.Flush(ctx))
			createNotes(t, ctx, v.notes, n, 1)
			must(t, v.Delete(ctx, fmt.Sprintf("note-%05d", n)))
			must(t, v.db.Flush(ctx))
			time.Sleep(3 * time.Hour)
		}
		t.Logf("All of %d left of %d: %v", left, n, costs)
		if first, last := costs[0], costs[3]; last.Trips > 12 || last.Ops > first.Ops/20 {
			t.Errorf("%d of %d records: %v at first, %v in the end", left, n, first, last)
		}
		if got := keysWith(mem, "ids:"); got > 6 {
			t.Errorf("%d keys are left, want few", got)
		}
		v.undeploy(t)
	})
}

// A user has voted for few items of a page.
func TestLoad_AllocatesNothingForEachRecordThatIsAbsent(t *testing.T) {
	r := kvmodel.NewRecords(open(t, memkv.New(memkv.Options{})), simpleNotes())
	allocs := func(n int) float64 {
		var ids []string
		for i := range n {
			ids = append(ids, fmt.Sprint("absent", i))
		}
		return testing.AllocsPerRun(50, func() {
			found, err := kvmodel.Load(t.Context(), r, ids, func(id string) string { return id })
			if err != nil || len(found) > 0 {
				t.Error(found, err)
			}
		})
	}
	// Room for all of them may grow a time or two.
	if few, many := allocs(5), allocs(30); many > few+2 {
		t.Errorf("30 absent records take %v allocations, and 5 take %v", many, few)
	}
}
