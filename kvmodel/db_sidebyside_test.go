package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var gets = proof.Gets

func openLog(t *testing.T) (*kvmodel.DB, *proof.KeyLog) {
	t.Helper()
	s := &proof.KeyLog{Store: memkv.New(memkv.Options{})}
	return closing(t, open(t, s)), s
}

// asks returns a work that reads missing keys from db, one after another.
func asks(db *kvmodel.DB, keys ...string) func(context.Context) error {
	return func(ctx context.Context) error { return gets(ctx, keys...)(db.Store()) }
}

func TestSideBySide_CostsTheTripsOfTheLongestWork(t *testing.T) {
	db, s := openLog(t)
	nested := func(ctx context.Context) error {
		return db.SideBySide(ctx, asks(db, "c1"), asks(db, "d1", "d2", "d3"))
	}
	if err := asks(db, "first")(t.Context()); err != nil { // and the marker of the format
		t.Fatal(err)
	}
	s.Trips = nil
	ctx, meter := kv.Metered(t.Context())
	must(t, db.SideBySide(ctx, asks(db, "a1", "a2"), asks(db), asks(db, "b1"), nested))
	want := [][]string{{"a1", "b1", "c1", "d1"}, {"a2", "d2"}, {"d3"}}
	wantSame(t, want, s.Trips, "trips")
	if cost := meter.Cost(); cost.Trips != 3 || cost.Depth != 3 || cost.Ops != 7 {
		t.Errorf("want 3 trips, 3 deep, with 7 ops, got %v", cost)
	}
}

func TestSideBySide_ReturnsTheFirstErrorInTheOrderOfTheWorks(t *testing.T) {
	db, _ := openLog(t)
	first, second := errors.New("first"), errors.New("second")
	err := db.SideBySide(t.Context(),
		func(ctx context.Context) error { return errors.Join(asks(db, "a")(ctx), first) },
		func(ctx context.Context) error { return errors.Join(asks(db, "b")(ctx), second) })
	if !errors.Is(err, first) || errors.Is(err, second) {
		t.Errorf("want the first work's error, got %v", err)
	}
}

func TestSideBySide_SendsNothingMoreOnceAWorkHasFailed(t *testing.T) {
	failed := errors.New("failed")
	fails := func(db *kvmodel.DB, keys ...string) func(context.Context) error {
		return func(ctx context.Context) error { return errors.Join(asks(db, keys...)(ctx), failed) }
	}
	for _, before := range [][]string{nil, {"a"}, {"a", "b"}} {
		db, s := openLog(t)
		err := db.SideBySide(t.Context(), asks(db, "1", "2", "3", "4"), fails(db, before...), func(ctx context.Context) error {
			return db.SideBySide(ctx, asks(db, "5", "6", "7", "8"), asks(db, "9"))
		})
		proof.Is(t, err, failed)
		proof.Len(t, s.Trips, len(before), "trips")
	}
}

func TestSideBySide_RunsOneWorkAtATime(t *testing.T) {
	db, _ := openLog(t)
	var order []int
	work := func(i int) func(context.Context) error {
		return func(ctx context.Context) error {
			for range 3 {
				order = append(order, i)
				if err := asks(db, fmt.Sprint(i))(ctx); err != nil {
					return err
				}
			}
			return nil
		}
	}
	must(t, db.SideBySide(t.Context(), work(1), func(context.Context) error { order = append(order, 0); return nil }, work(2), work(3)))
	slices.Sort(order[:4]) // The first may go on before or after the others.
	for i := range 3 {
		slices.Sort(order[1+3*i:][:3])
	}
	wantSame(t, []int{0, 1, 2, 3, 1, 2, 3, 1, 2, 3}, order, "which works went on")
}

// What a work has started and not awaited still has a store when the others are
// done.
func TestSideBySide_ContextOfAWorkThatHasEndedGoesOnAlone(t *testing.T) {
	db, s := openLog(t)
	var kept context.Context
	must(t, db.SideBySide(t.Context(), func(ctx context.Context) error { kept = ctx; return nil }, asks(db, "a")))
	must(t, asks(db, "late")(kept))
	if !slices.ContainsFunc(s.Trips, func(keys []string) bool { return slices.Equal(keys, []string{"late"}) }) {
		t.Errorf("want a trip of its own for what comes late, got %q", s.Trips)
	}
}

// A work may make requests from several goroutines.
func TestSideBySide_WorkWithGoroutinesOfItsOwnEnds(t *testing.T) {
	db, _ := openLog(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	many := func(ctx context.Context) error {
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				err := asks(db, "x", "y")(ctx)
				if i%2 == 0 {
					err = errors.Join(err, db.SideBySide(ctx, asks(db, "z"), asks(db, "x", "z")))
				}
				proof.Is(t, err, nil)
			})
		}
		all.Wait()
		return asks(db, "last")(ctx)
	}
	proof.Is(t, errors.Join(db.SideBySide(ctx, many, asks(db, "a"), many), ctx.Err()), nil)
}

func TestSideBySide_PanicsInTheCallersGoroutine(t *testing.T) {
	for _, local := range []bool{false, true} {
		t.Run(fmt.Sprint("local ", local), func(t *testing.T) {
			db, _ := openLocal(t, local)
			defer func() {
				proof.Equal(t, recover(), "oh", "panic of the work")
			}()
			_ = db.SideBySide(t.Context(), asks(db, "a"), func(context.Context) error { panic("oh") })
			t.Error("want a panic")
		})
	}
}

// openLocal returns a DB on a local or remote store, with the format's marker already read.
func openLocal(t *testing.T, local bool) (*kvmodel.DB, *memkv.Store) {
	t.Helper()
	s := memkv.New(memkv.Options{Local: local})
	db := closing(t, open(t, s))
	must(t, asks(db, "first")(t.Context()))
	return db, s
}

func TestSideBySide_OnALocalStoreWorksRunInOrderUntilOneFails(t *testing.T) {
	db, _ := openLocal(t, true)
	failed := errors.New("failed")
	var order []string
	work := func(name string, err error) func(context.Context) error {
		return func(ctx context.Context) error {
			order = append(order, name)
			return errors.Join(asks(db, name)(ctx), err)
		}
	}
	ctx, meter := kv.Metered(t.Context())
	err := db.SideBySide(ctx, work("a", nil), work("b", failed), work("c", errors.New("of the third")))
	proof.Is(t, err, failed)
	wantSame(t, []string{"a", "b"}, order, "works that ran")
	if cost := meter.Cost(); cost.Trips != 1 || cost.Ops != 2 {
		t.Errorf("counted %v, want a trip of 2 ops", cost)
	}
}
