package kvmodel_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type viewed struct {
	ID    string
	Text  string
	Views int64 `json:"-"`
}

type views struct {
	*kvmodel.Records[viewed, string]
	db *kvmodel.DB
}

func openViews(t testing.TB, s kv.Store) *views { return newViews(open(t, s), 0) }

func newViews(db *kvmodel.DB, keep int) *views {
	return &views{kvmodel.NewRecords(db, kvmodel.Schema[viewed, string]{
		Name: "Viewed", Version: 1, History: keep,
		ID:       func(v *viewed) string { return v.ID },
		SetID:    func(v *viewed, id string) { v.ID = id },
		Key:      kvmodel.StringKey[string](),
		Codec:    asJSON[viewed]{},
		Counters: []kvmodel.CounterOf[viewed]{{Name: "Views", Set: func(v *viewed, n int64) { v.Views = n }}},
	}), db}
}

func (v *views) hit(t testing.TB, ctx context.Context, times int) {
	t.Helper()
	for range times {
		_, err := v.db.Tally("Viewed", "Views").Add(ctx, "a", 1)
		must(t, err)
	}
}

func (v *views) wantViews(t testing.TB, ctx context.Context, want int64) {
	t.Helper()
	rec, err := v.Get(ctx, "a")
	must(t, err)
	if rec.Views != want {
		t.Errorf("it has %d views, want %d", rec.Views, want)
	}
}

func touchesCounter(ops []kv.Op) bool {
	for _, op := range ops {
		if strings.HasPrefix(op.Key, "n:") {
			return true
		}
	}
	return false
}

func TestCounter_RepairDropsWhatADeadDeleterHasLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		dying := &mortal{Store: plain(mem)}
		a, b := openViews(t, dying), openViews(t, shared{plain(mem)})
		must(t, a.Create(ctx, &viewed{ID: "a"}))
		must(t, b.Create(ctx, &viewed{ID: "warm"}))
		a.hit(t, ctx, 3)
		must(t, a.db.Flush(ctx))
		dying.dies.Store(dying.trips.Load() + 3) // after A0 and A2
		must(t, a.Delete(ctx, "a"))
		time.Sleep(2 * time.Minute)
		must(t, b.db.Flush(ctx))
		if _, err := kv.One(ctx, mem, kv.OpGet("n:Viewed:Views:a")); err == nil {
			t.Error("the counter is still there")
		}
		must(t, b.db.Close(ctx))
		_ = a.db.Close(ctx) // It is dead.
	})
}

func TestCounter_ADeletionDropsItInOneTripAfterTheReply(t *testing.T) {
	for _, hits := range []int{0, 3} {
		ctx := t.Context()
		seen := tamper(plain(memkv.New(memkv.Options{})), nil)
		v := openViews(t, seen)
		must(t, v.Create(ctx, &viewed{ID: "a"}))
		v.hit(t, ctx, hits)
		must(t, v.db.Flush(ctx))
		trips, replied := 0, false
		seen.set(func(_ context.Context, ops []kv.Op, next func([]kv.Op) error) error {
			if replied && touchesCounter(ops) {
				trips++
			}
			for _, op := range ops {
				replied = replied || op.Kind == kv.CompareAndSwap && strings.HasPrefix(op.Key, "r:")
			}
			return next(ops)
		})
		must(t, v.Delete(ctx, "a"))
		must(t, v.db.Flush(ctx))
		if trips != 1 {
			t.Errorf("after %d hits: %d trips for the counters, want 1", hits, trips)
		}
		must(t, v.db.Close(ctx))
	}
}

func TestCounter_AFirstHitThatDiesHalfwayLeavesNoNumberOfNone(t *testing.T) {
	for dies := range 3 {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		ops := 0
		dying := tamper(plain(mem), func(_ context.Context, trip []kv.Op, next func([]kv.Op) error) error {
			if touchesCounter(trip) {
				if ops++; ops > dies {
					return kv.ErrUnavailable
				}
			}
			return next(trip)
		})
		v := openViews(t, dying)
		_, _ = v.db.Tally("Viewed", "Views").Add(ctx, "a", 1)
		if r, err := kv.One(ctx, mem, kv.OpGet("n:Viewed:Views:a")); err == nil && string(r.Value) != "1" {
			t.Errorf("after %d trips it is %s", dies, r.Value)
		}
	}
}
