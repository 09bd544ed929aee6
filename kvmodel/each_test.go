package kvmodel_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func eachOf(t *testing.T, ctx context.Context, r *notes, w kvmodel.Walk) (ids []string) {
	t.Helper()
	must(t, r.Each(ctx, w, func(n *note) error { ids = append(ids, n.ID); return nil }))
	slices.Sort(ids)
	return ids
}

// Some processes die, and all others repair each of their journals.
func TestEach_GivesEveryRecordOnceHoweverManyHaveRepaired(t *testing.T) {
	for name, kind := range kinds {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
				handling := func() *process {
					p := start(t, kind(mem)).ends(t)
					p.OnChange(func(context.Context, kvmodel.Change[note, string]) error { return nil })
					return p
				}
				var want []string
				others := []*process{handling()}
				for i := range 3 {
					dying := handling()
					want = append(want, createNotes(t, ctx, dying.notes, 40*i, 40)...)
					dying.life.dies.Store(dying.life.trips.Load())
					others = append(others, handling())
				}
				slices.Sort(want)
				for _, later := range []time.Duration{0, 35 * time.Second, time.Minute, 10 * time.Minute} {
					wait(later)
					for _, p := range others {
						wantSame(t, want, eachOf(t, ctx, p.notes, kvmodel.Walk{}), "%v later", later)
					}
				}
			})
		})
	}
}

// The ids of a journal segment are in the list, and the segment cannot be deleted for a while.
func TestEach_GivesEveryRecordOnceThoughItsLineStays(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		var refused atomic.Int64
		s := tamper(plain(mem), func(ctx context.Context, ops []kv.Op, next func([]kv.Op) error) error {
			if ops[0].Kind == kv.Delete && strings.HasPrefix(ops[0].Key, "line:") && refused.Add(1) <= 3 {
				return kv.Fail(ops, kv.ErrUnavailable)
			}
			return next(ops)
		})
		p := start(t, s).ends(t)
		want := createNotes(t, ctx, p.notes, 0, 150)
		for range 10 {
			wantSame(t, want, eachOf(t, ctx, p.notes, kvmodel.Walk{}), "after %d deletions", refused.Load())
			wait(time.Second)
		}
		if n := refused.Load(); n < 4 {
			t.Errorf("the segment was deleted %d times, want 4", n)
		}
	})
}

// A walk that began while ids were in lines continues when they are in the list, and still in
// lines.
func TestEach_ThatGoesOnGivesNothingTwiceThatWasReported(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		dying := start(t, plain(mem)).ends(t)
		want := createNotes(t, ctx, dying.notes, 0, 350)
		dying.life.dies.Store(dying.life.trips.Load())
		other := start(t, plain(mem)).ends(t)
		wait(time.Minute)
		var last string
		var reported, given []string
		errEnough := errors.New("enough")
		wantErr(t, other.Each(ctx, kvmodel.Walk{Report: func(to string, _, _ int64) { last, reported = to, slices.Clone(given) }}, func(n *note) error {
			if len(given) == 320 {
				return errEnough
			}
			given = append(given, n.ID)
			return nil
		}), errEnough)
		all := append(reported, eachOf(t, ctx, other.notes, kvmodel.Walk{From: last})...)
		slices.Sort(all)
		wantSame(t, want, all, "both together")
	})
}

func TestEach_GoesOnFromWhereItWas(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		db := open(t, shared{s})
		want := createNotes(t, ctx, kvmodel.NewRecords(db, noteSchema()), 0, 950)
		must(t, db.Close(ctx))

		r := kvmodel.NewRecords(closing(t, open(t, s)), noteSchema())
		errFull := errors.New("the disk is full")
		var last string
		var done, left int64
		var first, second []string
		err := r.Each(ctx, kvmodel.Walk{Report: func(to string, d, l int64) { last, done, left = to, d, l }}, func(n *note) error {
			if len(first) == 420 {
				return errFull
			}
			first = append(first, n.ID)
			return nil
		})
		if err != errFull {
			t.Fatalf("got %v, want the error of the function as it is", err)
		}
		if done <= 300 || done > 420 || left <= 0 {
			t.Errorf("got %d done and %d left, when 420 of 950 were given", done, left)
		}
		if all := done + left; all < 850 || all > 1050 {
			t.Errorf("%d are done and %d left, want about 950 in all", done, left)
		}
		second = eachOf(t, ctx, r, kvmodel.Walk{From: last})
		if int64(len(second)) != 950-done {
			t.Errorf("it went on with %d records, want the %d that were not reported", len(second), 950-done)
		}
		all := append(first, second...)
		slices.Sort(all)
		wantSame(t, want, slices.Compact(all), "both together")
	})
}

func TestEach_GoesThroughNumberedRecords(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, s kv.Store) {
		r := openTickets(t, s, 230)
		must(t, r.Delete(ctx, 7))
		var to string
		var ids []int64
		give := func(v *ticket) error { ids = append(ids, v.ID); return nil }
		errEnough := errors.New("enough")
		must(t, r.Each(ctx, kvmodel.Walk{}, give))
		proof.Equal(t, len(ids), 229, "records")
		err := r.Each(ctx, kvmodel.Walk{Report: func(at string, _, _ int64) { to = at }}, func(v *ticket) error {
			if v.ID > 150 {
				return errEnough
			}
			return nil
		})
		wantErr(t, err, errEnough)
		ids = nil
		must(t, r.Each(ctx, kvmodel.Walk{From: to}, give))
		if len(ids) != 130 || slices.Min(ids) != 101 {
			t.Errorf("it went on with %d records from %d, want 130 from 101", len(ids), slices.Min(ids))
		}
	})
}

func TestEach_IsNotFasterThanItsRate(t *testing.T) {
	r := kvmodel.NewRecords(closing(t, open(t, memkv.New(memkv.Options{}))), noteSchema())
	createNotes(t, t.Context(), r, 0, 300)
	began := time.Now()
	eachOf(t, t.Context(), r, kvmodel.Walk{Rate: 4000})
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("300 records at 4000 a second took %v, but the last batch must wait for 50ms", took)
	}
}

func TestEach_RefusesWhatItCannotGoOnFrom(t *testing.T) {
	ctx := t.Context()
	db := open(t, shared{memkv.New(memkv.Options{})})
	r, to := kvmodel.NewRecords(db, noteSchema()), ""
	createNotes(t, ctx, r, 0, 10)
	must(t, db.Flush(ctx))
	must(t, r.Each(ctx, kvmodel.Walk{Report: func(at string, _, _ int64) { to = at }}, func(*note) error { return nil }))
	if to == "" {
		t.Fatal("Each did not say how far it has come")
	}
	none := func(*note) error { return nil }
	must(t, r.Each(ctx, kvmodel.Walk{From: to}, none))
	wantErr(t, r.Each(ctx, kvmodel.Walk{From: "x"}, none), kvmodel.ErrBadCursor)
	wantErr(t, r.Each(ctx, kvmodel.Walk{Rate: -1}, none), kvmodel.ErrInvalid)
}
