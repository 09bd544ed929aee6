package kvmodel_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func flip(t *testing.T, ctx context.Context, s kv.Store, key string) {
	t.Helper()
	got, err := kv.One(ctx, s, kv.OpGet(key))
	must(t, err)
	value := bytes.Clone(got.Value)
	value[len(value)/2] ^= 0x40
	_, err = kv.One(ctx, s, kv.OpSet(key, value))
	must(t, err)
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
		_, err = v.Update(ctx, "a", func(v *viewed) error { v.Text = "changed"; return nil })
		must(t, err)
		must(t, v.Rebuild(ctx))

		views := v.db.Tally("Viewed", "Views")
		_, err = views.Add(ctx, "a", 1)
		wantKeys(t, "hit", err, key)
		must(t, views.Set(ctx, "a", 7))
		v.wantViews(t, ctx, 7)

		flip(t, ctx, s, key)
		must(t, v.Delete(ctx, "a"))
		must(t, v.db.Flush(ctx))
		if _, err := kv.One(ctx, s, kv.OpGet(key)); !errors.Is(err, kv.ErrNotFound) {
			t.Errorf("after the deletion the counter is there: %v", err)
		}
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
