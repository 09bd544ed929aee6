package index_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// uncleaning is a store that can refuse what cleaning up begins with, to read a
// record, to all but those who have an asker's context.
type uncleaning struct {
	kv.Store
	refuses atomic.Bool
}

type asker struct{}

func (u *uncleaning) Powers() kv.Powers { return kv.PowersOf(u.Store) }

func (u *uncleaning) Do(ctx context.Context, ops []kv.Op) error {
	if u.refuses.Load() && ctx.Value(asker{}) == nil && strings.HasPrefix(ops[0].Key, "r:") {
		return kv.Fail(ops, kv.ErrUnavailable)
	}
	return u.Store.Do(ctx, ops)
}

func TestList_SizeAndCount_AreRightBesideACreateThatHasFailed(t *testing.T) {
	for name, s := range map[string]kv.Store{
		"unless": server{memkv.New(memkv.Options{})}, "plain": plain{memkv.New(memkv.Options{})},
	} {
		t.Run(name, func(t *testing.T) {
			clock := proof.NewClock(time.Now())
			ctx, late := context.WithValue(t.Context(), asker{}, true), &uncleaning{Store: shared{s}}
			db, err := kvmodel.Open(late, kvmodel.Clock(clock.Now), kvmodel.Log(slog.New(slog.DiscardHandler)))
			must(t, err)
			b := newBooks(closing(t, db))
			for _, id := range []string{"a", "b", "c"} {
				must(t, b.Create(ctx, &book{ID: id, Author: "knuth"}))
			}
			clock.Advance(time.Second)
			late.refuses.Store(true)
			for _, id := range []string{"a", "b"} {
				if err := b.Create(ctx, &book{ID: id, Author: "knuth"}); !errors.Is(err, kv.ErrExists) {
					t.Errorf("got %v, want an ErrExists", err)
				}
			}
			knuth := b.ByAuthor.Of("knuth")
			wantIDs(t, ctx, knuth, "a", "b", "c")
			must(t, b.Delete(ctx, "a"))
			wantIDs(t, ctx, knuth, "b", "c")
			_, err = b.Update(ctx, "b", func(b *book) error { b.Author = "dijkstra"; return nil })
			must(t, err)
			wantIDs(t, ctx, knuth, "c")
			must(t, b.Create(ctx, &book{ID: "a", Author: "knuth"}))
			wantIDs(t, ctx, knuth, "a", "c")
			late.refuses.Store(false)
			must(t, b.db.Flush(ctx))
			wantIDs(t, ctx, knuth, "a", "c")
			wantIDs(t, ctx, b.ByAuthor.Of("dijkstra"), "b")
		})
	}
}

// The clock of the process that wins is behind.
func TestList_HasNothingOfATryThatLostToARecordWithALowerRev(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	clock := proof.NewClock(time.Now())
	before := proof.NewClock(clock.Now().Add(-time.Second))
	m := &meddling{Store: still{mem}}
	b, other := openAt(t, shared{m}, clock), openAt(t, still{mem}, before)
	m.before.Set(func() { must(t, other.Create(ctx, &book{ID: "a", Author: "knuth"})) })
	tries := 0
	_, err := b.Upsert(ctx, "a", func(b *book) error {
		if tries++; tries == 1 {
			b.Author = "dijkstra"
		}
		b.N++
		return nil
	})
	if err != nil || tries != 2 {
		t.Errorf("%d tries, %v; want 2", tries, err)
	}
	must(t, b.db.Flush(ctx))
	wantIDs(t, ctx, b.ByAuthor.Of("dijkstra"))
	wantIDs(t, ctx, b.ByAuthor.Of("knuth"), "a")
}
