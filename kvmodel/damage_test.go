package kvmodel_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func flip(t *testing.T, ctx context.Context, s kv.Store, key string) {
	t.Helper()
	got, err := kv.One(ctx, s, kv.OpGet(key))
	must(t, err)
	value := bytes.Clone(got.Value)
	value[len(value)/2] ^= 0x40
	proof.Done(t)(kv.One(ctx, s, kv.OpSet(key, value)))
}

// wantKeys asserts that err is an ErrCorrupt that names exactly these keys.
func wantKeys(t *testing.T, what string, err error, want ...string) {
	t.Helper()
	corrupt, ok := errors.AsType[*kvmodel.CorruptError](err)
	if !ok || !errors.Is(err, kvmodel.ErrCorrupt) {
		t.Errorf("%s: got %v, want an ErrCorrupt", what, err)
		return
	}
	wantSame(t, want, corrupt.Keys, "%s: keys", what)
}

func three(t *testing.T, ctx context.Context, s kv.Store) *views {
	v := newViews(closing(t, open(t, s)), 0)
	for _, id := range []string{"a", "b", "c"} {
		must(t, v.Create(ctx, &viewed{ID: id, Text: "text of " + id}))
	}
	v.hit(t, ctx, 3)
	must(t, v.db.Flush(ctx))
	return v
}

func (v *views) yields(ctx context.Context) (ids []string, errs []error) {
	for rec, err := range v.All(ctx) {
		if rec != nil {
			ids = append(ids, rec.ID)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	slices.Sort(ids)
	return ids, errs
}

func TestDamage_ACounterConcernsOnlyWhoAsksForIt(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		v := three(t, ctx, s)
		const key = "n:Viewed:Views:a"
		flip(t, ctx, s, key)
		rec, err := v.Get(ctx, "a")
		wantKeys(t, "get", err, key)
		wantSame(t, &viewed{ID: "a", Text: "text of a"}, rec, "get")
		recs, err := v.GetMulti(ctx, []string{"a", "b"})
		wantKeys(t, "multi", err, key)
		if len(recs) != 2 || recs[0] == nil || recs[1] == nil {
			t.Errorf("multi: got %v, want both records", recs)
		}
		ids, errs := v.yields(ctx)
		if diff := cmp.Diff([]string{"a", "b", "c"}, ids); diff != "" || len(errs) != 1 {
			t.Errorf("all: %v (-want +got)\n%s", errs, diff)
		}
		proof.Done(t)(v.Update(ctx, "a", func(v *viewed) error { v.Text = "changed"; return nil }))
		must(t, v.Rebuild(ctx))

		views := v.db.Tally("Viewed", "Views")
		_, err = views.Add(ctx, "a", 1)
		wantKeys(t, "hit", err, key)
		must(t, views.Set(ctx, "a", 7))
		v.wantViews(t, ctx, 7)

		flip(t, ctx, s, key)
		must(t, v.Delete(ctx, "a"))
		must(t, v.db.Flush(ctx))
		proof.Ends(t, kv.ErrNotFound)(kv.One(ctx, s, kv.OpGet(key)))
	})
}

func TestDamage_ARecordIsLeftOutAndNamed(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		v := three(t, ctx, s)
		const key = "r:Viewed:b"
		flip(t, ctx, s, key)
		_, err := v.Get(ctx, "b")
		wantKeys(t, "get", err, key)
		recs, err := v.GetMulti(ctx, []string{"a", "b", "c"})
		wantKeys(t, "multi", err, key)
		if len(recs) != 3 || recs[0] == nil || recs[1] != nil || recs[2] == nil {
			t.Errorf("multi: got %v, want the first and the last", recs)
		}
		ids, errs := v.yields(ctx)
		if diff := cmp.Diff([]string{"a", "c"}, ids); diff != "" || len(errs) != 1 {
			t.Errorf("all: %v (-want +got)\n%s", errs, diff)
		}
		ids = nil
		wantKeys(t, "each", v.Each(ctx, kvmodel.Walk{}, func(rec *viewed) error { ids = append(ids, rec.ID); return nil }), key)
		if slices.Sort(ids); !slices.Equal(slices.Compact(ids), []string{"a", "c"}) {
			t.Errorf("each gives %q, want the others first", ids)
		}
		wantKeys(t, "rebuild", v.Rebuild(ctx), key)
		must(t, v.Delete(ctx, "b"))
		must(t, v.Create(ctx, &viewed{ID: "b", Text: "made again"}))
		must(t, v.db.Flush(ctx))
		must(t, v.Rebuild(ctx))
		if ids, errs := v.yields(ctx); len(ids) != 3 || len(errs) > 0 {
			t.Errorf("all: %v, %v; want three records", ids, errs)
		}
	})
}

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
			proof.Ends(t, nil)(frame.Either(got.Value))
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
		proof.Ends(t, nil)(p.Get(ctx, "n1"))
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

func spoil(t *testing.T, ctx context.Context, s kv.Store, key string, at, n int) {
	t.Helper()
	got, err := kv.One(ctx, s, kv.OpGet(key))
	must(t, err)
	value := bytes.Clone(got.Value)
	for i := range value[at : at+n] {
		value[at+i] ^= 0xda
	}
	proof.Done(t)(kv.One(ctx, s, kv.OpSet(key, value)))
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
				proof.Ends(t, kvmodel.ErrNeedsRebuild)(p.byCode.Find(ctx, "c1"))
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
		proof.Ends(t, kvmodel.ErrNeedsRebuild)(other.byCode.Find(ctx, "c0"))
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

// hurt is an index without entries, except that the one of the record id is damaged.
type hurt struct {
	plug.Unlimited
	id string
}

const hurtKey = "x:Note:Hurt"

func (*hurt) Name() string                { return "Hurt" }
func (*hurt) Def() string                 { return "" }
func (*hurt) Places(plug.Record) []string { return []string{"all"} }

func (h *hurt) Prepare(_ context.Context, _ kv.Store, mv *plug.Move) error { return h.of(mv.ID) }

func (*hurt) Beside(context.Context, kv.Store, *plug.Move) error  { return nil }
func (*hurt) After(context.Context, kv.Store, []*plug.Move) error { return nil }

func (h *hurt) Repair(_ context.Context, _ kv.Store, rec *plug.Seen, _ []string) error {
	return h.of(rec.ID)
}

func (*hurt) Purge(context.Context, kv.Store, plug.Gone, func() error) error { return nil }

func (*hurt) Check(context.Context, kv.Store, []*plug.Seen) ([][]string, error) { return nil, nil }

func (h *hurt) of(id string) error {
	if id != h.id {
		return nil
	}
	return wire.Corrupt(hurtKey, fmt.Errorf("%w: a test", kvmodel.ErrCorrupt))
}

func TestDamage_OfAnEntryKeepsNothingElseOutOfARebuild(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		p, h := start(t, plain(mem)).ends(t), new(hurt)
		p.Plug(h, func(plug.Host) {})
		for i := range 250 {
			must(t, p.Create(ctx, &note{ID: fmt.Sprintf("n%03d", i), Text: "x", Code: fmt.Sprint("c", i)}))
		}
		must(t, p.db.Flush(ctx))
		h.id = "n002"
		mem.Evict(keys(mem, "u")...)
		wantKeys(t, "rebuild", p.Rebuild(ctx), hurtKey)
		for i := range 250 {
			p.finds(t, ctx, fmt.Sprint("c", i))
		}
		h.id = ""
		must(t, p.Rebuild(ctx))
	})
}
