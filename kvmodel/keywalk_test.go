package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func longID(i int) string { return fmt.Sprint("long ", strings.Repeat("x", 150), i%7, " ", i) }

// roll is a model on one store, and the records that an interrupted walk with Each has given so
// far.
type roll struct {
	*notes
	s     kv.Store
	db    *kvmodel.DB
	to    string
	given map[string]int // since the walk began
}

func (r *roll) open(t *testing.T) {
	r.db = open(t, r.s)
	r.notes = kvmodel.NewRecords(r.db, simpleNotes())
}

// step continues the walk. It ends it, and reports true, if at most few records are left.
func (r *roll) step(t *testing.T, ctx context.Context, few int) (ended bool) {
	t.Helper()
	stop, n, since := errors.New("stop"), 0, []string{}
	add := func() {
		for _, id := range since {
			r.given[id]++
		}
		since = nil
	}
	err := r.Each(ctx, kvmodel.Walk{From: r.to, Report: func(to string, _, _ int64) { r.to = to; add() }}, func(v *note) error {
		since = append(since, v.ID)
		if n++; n > few {
			return stop
		}
		return nil
	})
	if err == nil {
		add()
	} else if err != stop {
		t.Error(err)
	}
	return err == nil
}

// A store that lists keys in order and one that does not give the same records, whatever the
// history.
func TestModels_AWalkAlongKeysGivesWhatTheListOfIDsGives(t *testing.T) {
	for seed := range proof.Rounds(t, 3, 2000) {
		ctx, rng := t.Context(), rand.New(rand.NewPCG(seed, 0))
		file, err := boltkv.Open(filepath.Join(t.TempDir(), "file"), boltkv.Options{Durability: boltkv.Unsynced})
		must(t, err)
		rolls := map[string]*roll{
			"file": {s: shared{file}}, "memory": {s: shared{memkv.New(memkv.Options{})}},
			"listed": {s: shared{kinds["unless and ordered"](memkv.New(memkv.Options{}))}},
		}
		lives, throughout, ever := map[string]bool{}, map[string]bool{}, map[string]bool{}
		begin := func() {
			throughout, ever = maps.Clone(lives), maps.Clone(lives)
			for _, r := range rolls {
				r.to, r.given = "", map[string]int{}
			}
		}
		begin()
		each := func(do func(r *roll) error) {
			for name, r := range rolls {
				if r.notes == nil {
					r.open(t)
				}
				if err := do(r); err != nil {
					t.Errorf("seed %d, %s: %v", seed, name, err)
				}
			}
		}
		for range 60 {
			id := fmt.Sprintf("n/%03d", rng.IntN(500))
			if rng.IntN(3) == 0 {
				id = longID(rng.IntN(500))
			}
			switch what := rng.IntN(12); {
			case what < 5:
				var all []*note
				for i := range 1 + rng.IntN(40) {
					all = append(all, &note{ID: fmt.Sprint(id, i), Text: "x"})
					lives[all[i].ID], ever[all[i].ID] = true, true
				}
				each(func(r *roll) error { return r.PutMulti(ctx, all) })
			case what < 8:
				for _, id := range slices.Sorted(maps.Keys(lives)) {
					if rng.IntN(10) == 0 {
						delete(lives, id)
						delete(throughout, id)
						purge := rng.IntN(8) == 0
						each(func(r *roll) error {
							if purge && r == rolls["file"] {
								return r.Purge(ctx, id)
							}
							return r.Delete(ctx, id)
						})
					}
				}
			case what == 8:
				each(func(r *roll) error {
					err := r.db.Close(ctx)
					r.open(t)
					return err
				})
			case what == 9:
				each(func(r *roll) error {
					got, err := seen(ctx, r.notes)
					if diff := cmp.Diff(slices.Sorted(maps.Keys(lives)), got, cmpopts.EquateEmpty()); diff != "" {
						return fmt.Errorf("All (-want +got)\n%s", diff)
					}
					return err
				})
			default:
				few, ended := rng.IntN(400), true
				each(func(r *roll) error { ended = r.step(t, ctx, few) && ended; return nil })
				if !ended {
					continue
				}
				each(func(r *roll) error {
					for !r.step(t, ctx, 1000) {
					}
					for id := range throughout {
						if r.given[id] != 1 && (r != rolls["listed"] || r.given[id] == 0) {
							return fmt.Errorf("Each has given %q %d times", id, r.given[id])
						}
					}
					for id := range r.given {
						if !ever[id] {
							return fmt.Errorf("Each has given %q, which there is not", id)
						}
					}
					return nil
				})
				begin()
			}
		}
		each(func(r *roll) error { return r.db.Close(ctx) })
		must(t, file.Close())
		if t.Failed() {
			return
		}
	}
}

func TestWalk_ANewRecordIsWrittenUnderItsOwnKeyAlone(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	r := kvmodel.NewRecords(closing(t, open(t, mem)), simpleNotes())
	createNotes(t, ctx, r, 0, 1)
	ctx, meter := kv.Metered(ctx)
	must(t, r.Create(ctx, &note{ID: "n", Text: "x"}))
	if cost := meter.Cost(); cost.Keys != 1 {
		t.Errorf("%v, want one key", cost)
	}
	if n := keysWith(mem, "ids:"); n > 0 {
		t.Errorf("there are %d keys of ids", n)
	}
}

func TestWalk_WhatIsDeletedOrHasEndedIsNotGiven(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				r := kvmodel.NewRecords(closing(t, open(t, kind(memkv.New(memkv.Options{})))), noteSchema())
				var want []string
				for i := range 20 {
					for _, v := range []*note{{ID: fmt.Sprint("n", i)}, {ID: longID(i)}} {
						v.Text = "x"
						if i%4 == 0 {
							v.Expires = time.Now().Add(time.Minute)
						}
						must(t, r.Create(ctx, v))
						switch i % 4 {
						case 1:
							must(t, r.Delete(ctx, v.ID))
						case 2, 3:
							want = append(want, v.ID)
						}
					}
				}
				slices.Sort(want)
				for _, later := range []time.Duration{2 * time.Minute, 2 * time.Hour, 48 * time.Hour} {
					time.Sleep(later)
					wantSame(t, want, allIDs(t, ctx, r), "All, %v later", later)
					wantSame(t, want, eachOf(t, ctx, r, kvmodel.Walk{}), "Each, %v later", later)
				}
			})
		})
	}
}

// Only the beginning of such a long name is in a key.
func TestWalk_ModelsWhoseLongNamesBeginAlikeAreApart(t *testing.T) {
	ctx := t.Context()
	db := closing(t, open(t, memkv.New(memkv.Options{})))
	var models []*notes
	for i := range 3 {
		schema := simpleNotes()
		schema.Name = strings.Repeat("Long", 40-i) + fmt.Sprint(i)
		models = append(models, kvmodel.NewRecords(db, schema))
	}
	for i, r := range models {
		for n := range 5 {
			must(t, r.Create(ctx, &note{ID: fmt.Sprint(i, n), Text: "x"}))
		}
	}
	for i, r := range models {
		want := []string{}
		for n := range 5 {
			want = append(want, fmt.Sprint(i, n))
		}
		wantSame(t, want, allIDs(t, ctx, r), "model %d", i)
	}
}

func TestWalk_ARecordThatCannotSayItsIDIsNamedAndNotPassedBy(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	v := deploy(t, mem)
	want := append(createNotes(t, ctx, v.notes, 0, 150), longID(1))
	for i := range 2 {
		must(t, v.Create(ctx, &note{ID: longID(i), Text: "x"}))
	}
	slices.Sort(want)
	bad := kv.NewClass("r", 2).Key("Note", longID(0))
	if r, err := kv.One(ctx, mem, kv.OpGet(bad)); err != nil || !kv.IsHashed(bad) {
		t.Fatalf("%s: %q, %v", bad, r.Value, err)
	}
	proof.Done(t)(kv.One(ctx, mem, kv.OpSet(bad, []byte("?"))))

	got, err := seen(ctx, v.notes)
	wantKeys(t, "All", err, bad)
	wantSame(t, want, got, "All")
	to := ""
	err = v.Each(ctx, kvmodel.Walk{Report: func(at string, _, _ int64) { to = at }}, func(*note) error { return nil })
	wantKeys(t, "Each", err, bad)
	wantKeys(t, "Each that goes on", v.Each(ctx, kvmodel.Walk{From: to}, func(*note) error { return nil }), bad)
	v.undeploy(t)
}

// Without Walk the ids must be listed, which no transaction can do.
func TestOpen_TransactionsWithoutAWalkAreNotUsed(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	s := powers{mem, kv.Powers{Atomic: func(context.Context, func(kv.Store) error) error {
		return errors.New("a transaction was begun")
	}}}
	r := kvmodel.NewRecords(closing(t, open(t, s)), simpleNotes())
	want := createNotes(t, ctx, r, 0, 3)
	wantSame(t, want, allIDs(t, ctx, r), "All")
}

func TestOpen_EveryWrapperOfADatabaseKeepsTheWalk(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	for _, tenant := range []string{"", "a", "b"} {
		var opts []kvmodel.Option
		if tenant != "" {
			opts = append(opts, kvmodel.Tenant(tenant))
		}
		db := open(t, shared{kv.Retry(kv.Count(kv.Trace(mem, func(context.Context, kv.Trip) {})), 2, time.Millisecond)}, opts...)
		defer db.OnTrip(func(context.Context, kv.Trip) {})()
		r := kvmodel.NewRecords(db, simpleNotes())
		must(t, r.Create(ctx, &note{ID: "of " + tenant, Text: "x"}))
		wantSame(t, []string{"of " + tenant}, allIDs(t, ctx, r), "tenant %q", tenant)
		must(t, db.Close(ctx))
		readers := kvmodel.NewRecords(open(t, shared{mem}, append(opts, kvmodel.ReadOnly())...), simpleNotes())
		wantSame(t, []string{"of " + tenant}, allIDs(t, ctx, readers), "tenant %q, only read", tenant)
	}
	if n := keysWith(mem, "ids:") + keysWith(mem, "a:ids:") + keysWith(mem, "b:ids:"); n > 0 {
		t.Errorf("there are %d keys of ids", n)
	}
}
