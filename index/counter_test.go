package index_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type follower struct {
	mu   sync.Mutex
	told []string
}

func (f *follower) note(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, fmt.Sprintf(format, args...))
	return nil
}

func (f *follower) Counting(_ context.Context, _ kv.Store, id string, delta int64) error {
	return f.note("counting %s %+d", id, delta)
}

func (f *follower) Counted(_ context.Context, id string, delta, count int64) error {
	return f.note("counted %s %+d to %d", id, delta, count)
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
		must(t, db.Close(ctx)) // Close does the remaining work
		want := []string{"counting go +1", "counted go +1 to 1", "counting go +1", "counted go +1 to 2", "counting go -1", "counted go -1 to 1"}
		f.mu.Lock()
		defer f.mu.Unlock()
		if diff := cmp.Diff(want, slices.Clone(f.told)); diff != "" {
			t.Errorf("mismatch (-want +got):\n%s", diff)
		}
	})
}
