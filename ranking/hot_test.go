package ranking_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// A process that dies while it moves a member leaves the old entry, which counts for nothing. The
// next page that meets it has it removed.
func TestBoard_ByACounterRemovesTheOldEntryThatADeadProcessLeft(t *testing.T) {
	ranking.SmallLeaves(t)
	s := memkv.New(memkv.Options{})
	var on, dead atomic.Bool // The process dies once a member's own record is written.
	a := openArticles(filtered{s, func(op *kv.Op) bool {
		refused := dead.Load() && writesBoard(op)
		if on.Load() && op.Kind == kv.CompareAndSwap && strings.HasPrefix(op.Key, "rank:Article:TopViews:i:") {
			dead.Store(true)
		}
		return refused
	}}, ranking.Every)
	hits(t, a, "tea", map[string]int{"a": 1, "b": 300, "c": 40, "d": 9, "e": 70, "f": 130})
	flush(t, a)
	on.Store(true)
	if _, err := kv.One(ctx, s, kv.OpSet(a.views.key("a"), []byte("50"))); err != nil {
		t.Fatal(err)
	}
	// The other board can no longer follow, and returns an error.
	_ = a.views.Hit(ctx, "a")
	b := openArticles(still{s}, ranking.Windowed)
	defer b.db.Close(ctx)
	before, err := b.TopViews.Verify(ctx)
	if err != nil || before.Stale == 0 {
		t.Fatalf("nothing is stale: %+v, %v", before, err)
	}
	want(t, allOf(t, b.TopViews, 10), "b", "f", "e", "a", "c", "d")
	flush(t, b)
	if after, err := b.TopViews.Verify(ctx); err != nil || after.Stale+after.Pending > 0 {
		t.Errorf("after a page: %+v, %v", after, err)
	}
}

// What finds no room while the store is down comes with the next count.
func TestBoard_ByACounter_WaitsForAStoreThatIsDownWhileThereIsRoom(t *testing.T) {
	ranking.SmallWindows(t)
	const members = 400
	var down atomic.Bool
	a := openArticles(filtered{memkv.New(memkv.Options{}), func(op *kv.Op) bool { return down.Load() && writesBoard(op) }}, ranking.Windowed)
	counts := map[string]int64{}
	var all []*article
	for i := range members {
		all = append(all, &article{ID: memberID(i)})
		counts[memberID(i)] = 1
	}
	must(t, a.CreateMulti(ctx, all))
	flush(t, a)
	down.Store(true)
	for i := range members {
		must(t, a.views.Hit(ctx, memberID(i)))
	}
	if err := a.db.Flush(ctx); !errors.Is(err, kv.ErrUnavailable) {
		t.Error("a flush to a store that is down:", err)
	}
	down.Store(false)
	flush(t, a)
	must(t, a.TopViews.Refresh(ctx))
	if n, err := a.TopViews.Len(ctx); n != 300 || err != nil {
		t.Errorf("%d of %d members waited, %v; want 300", n, members, err)
	}
	for i := range members {
		must(t, a.views.Hit(ctx, memberID(i)))
		counts[memberID(i)]++
		if i%200 == 199 {
			flush(t, a)
		}
	}
	checkCounted(t, a, counts)
	must(t, a.db.Close(ctx))
}
