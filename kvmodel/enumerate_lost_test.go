package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// seen returns the ids of what All returns, sorted, and its error.
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

// kindsOn runs f on a store with transactions and one without, with what is under them.
func kindsOn(t *testing.T, f func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store)) {
	for _, kind := range []string{"atomic", "plain"} {
		t.Run(kind, func(t *testing.T) {
			mem := memkv.New(memkv.Options{})
			f(t, t.Context(), mem, shared{kinds[kind](mem)})
		})
	}
}

func TestLost_WhateverKeyOfTheEnumerationIsGoneIsNoEnd(t *testing.T) {
	kindsOn(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
		v := deploy(t, s, "Code")
		want := createNotes(t, ctx, v.notes, 0, 1500)
		v.undeploy(t)
		keys := slices.DeleteFunc(mem.Keys(), func(key string) bool { return !strings.HasPrefix(key, "all:") })
		if isListed := kv.PowersOf(s).Walk == nil; isListed != (len(keys) >= 3) {
			t.Fatalf("chunks %q", keys)
		}
		for _, key := range append(keys, "ids:Note") {
			r, err := kv.One(ctx, mem, kv.OpGet(key))
			must(t, err)
			mem.Evict(key)
			v := deploy(t, s, "Code")
			got, err := seen(ctx, v.notes)
			wantErr(t, err, kv.ErrLost)
			if key != "ids:Note" && (err == nil || !strings.Contains(err.Error(), "with about") || len(got) < len(want)/2) {
				t.Errorf("without %s: %d of %d records, %v; want the others, and about how many are gone", key, len(got), len(want), err)
			}
			wantErr(t, v.Rebuild(ctx), kv.ErrLost)
			v.undeploy(t)
			_, err = kv.One(ctx, mem, kv.OpSet(key, r.Value))
			must(t, err)
		}
		v = deploy(t, s, "Code")
		if diff := cmp.Diff(want, allIDs(t, ctx, v.notes)); diff != "" {
			t.Errorf("with all keys (-want +got)\n%s", diff)
		}
		v.undeploy(t)
	})
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
	kindsOn(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
		v := deploy(t, s, "Code")
		createNotes(t, ctx, v.notes, 0, 3)
		v.undeploy(t)
		mem.Evict("built:Note", "ids:Note")
		v = deploy(t, s, "Code")
		_, err := seen(ctx, v.notes)
		wantErr(t, err, kv.ErrLost)
		wantErr(t, v.Create(ctx, &note{ID: "new", Text: "x"}), kv.ErrLost)
		_, err = v.by["Code"].Find(ctx, "c")
		wantErr(t, err, kv.ErrLost)
		v.undeploy(t)
	})
}

func TestLost_TwoHistoriesThatAreMixedAreNotRead(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	s := shared{plain(mem)}
	v := deploy(t, s, "Code")
	createNotes(t, ctx, v.notes, 0, 3)
	v.undeploy(t)
	other := memkv.New(memkv.Options{})
	v = deploy(t, shared{plain(other)}, "Code")
	createNotes(t, ctx, v.notes, 0, 3)
	v.undeploy(t)
	r, err := kv.One(ctx, other, kv.OpGet("built:Note"))
	must(t, err)
	_, err = kv.One(ctx, mem, kv.OpSet("built:Note", r.Value))
	must(t, err)
	v = deploy(t, s, "Code")
	_, err = seen(ctx, v.notes)
	wantErr(t, err, kv.ErrLost)
	wantErr(t, v.Create(ctx, &note{ID: "new", Text: "x"}), kv.ErrLost)
	v.undeploy(t)
}

func TestLost_AfterAcceptTheRestIsReadAndWritten(t *testing.T) {
	for _, lost := range [][]string{{"all:Note:1"}, {"all:Note:2"}, {"all:Note:3"}, {"ids:Note"}, {"built:Note"}, {"ids:Note", "built:Note"}} {
		t.Run(strings.Join(lost, " "), func(t *testing.T) {
			kindsOn(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
				v := deploy(t, s, "Code")
				all := createNotes(t, ctx, v.notes, 0, 900)
				v.undeploy(t)
				mem.Evict(lost...)
				v = deploy(t, s, "Code")
				must(t, v.Accept(ctx))
				got, err := seen(ctx, v.notes)
				must(t, err)
				isChunk := strings.HasPrefix(lost[0], "all:") && kv.PowersOf(s).Walk == nil
				if len(got) < len(all)/3 || isChunk == (len(got) == len(all)) {
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
		})
	}
}

func TestCompaction_RecordsThatAreGoneCostLittle(t *testing.T) {
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
				if diff := cmp.Diff(ids[:left], got); diff != "" {
					t.Errorf("all (-want +got)\n%s", diff)
				}
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
		if got := keysWith(mem, "all:"); got > 4 {
			t.Errorf("%d chunks are left, want few", got)
		}
		v.undeploy(t)
	})
}
