package kvmodel_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

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
		if calls != 1 {
			t.Errorf("%d calls, want the one before Close", calls)
		}
	})
}
