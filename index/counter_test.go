package index_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// follower notes the calls it gets, and fails if it should.
type follower struct {
	fails bool

	mu   sync.Mutex
	told []string
}

func (f *follower) note(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, fmt.Sprintf(format, args...))
	if f.fails {
		return errors.New("the follower fails")
	}
	return nil
}

func (f *follower) Counting(_ context.Context, _ kv.Store, id string, delta int64) error {
	return f.note("counting %s %+d", id, delta)
}

func (f *follower) Counted(_ context.Context, id string, delta, count int64) error {
	return f.note("counted %s %+d to %d", id, delta, count)
}

func TestCounter_TellsItsFollowers(t *testing.T) {
	for _, fails := range []bool{false, true} {
		ctx, db := t.Context(), closing(t, open(t, memkv.New(memkv.Options{})))
		b := newBooks(db)
		views := index.NewCounter(b.Records, "Views")
		f := &follower{fails: fails}
		db.Tally("Book", "Views").Follow(f)
		for _, d := range []int64{1, 5, -9} {
			// A follower that fails does not make the addition fail.
			_, err := views.Add(ctx, "a", d)
			must(t, err)
		}
		n, err := views.Get(ctx, "a")
		must(t, err)
		none, err := views.Get(ctx, "b")
		must(t, err)
		if n != 0 || none != 0 {
			t.Errorf("the counters are %d and %d, want 0", n, none)
		}
		want := []string{"counting a +1", "counted a +1 to 1", "counting a +5", "counted a +5 to 6", "counting a -9", "counted a -9 to 0"}
		if diff := cmp.Diff(want, f.told); diff != "" {
			t.Errorf("fails %v: mismatch (-want +got):\n%s", fails, diff)
		}
	}
}

func TestLists_DerivedCountsTellTheirFollowers(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		db := open(t, s)
		b := newBooks(db)
		f := new(follower)
		db.Derived("Tag", "Books").Follow(f)
		must(t, b.Create(ctx, &book{ID: "x", Tags: []string{"go"}}))
		must(t, db.Flush(ctx))
		must(t, b.Create(ctx, &book{ID: "y", Tags: []string{"go"}}))
		must(t, db.Flush(ctx))
		must(t, b.Delete(ctx, "x"))
		must(t, db.Close(ctx)) // Close does what is left to do.
		want := []string{"counting go +1", "counted go +1 to 1", "counting go +1", "counted go +1 to 2", "counting go -1", "counted go -1 to 1"}
		f.mu.Lock()
		defer f.mu.Unlock()
		if diff := cmp.Diff(want, slices.Clone(f.told)); diff != "" {
			t.Errorf("mismatch (-want +got):\n%s", diff)
		}
	})
}
