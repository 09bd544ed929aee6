package kvmodel_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

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
		if n != 1 {
			t.Errorf("%d results, want the error alone", n)
		}
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
	if n != 5 {
		t.Errorf("%d records, want 5", n)
	}
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
