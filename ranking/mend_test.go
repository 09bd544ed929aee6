package ranking_test

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

func flip(t *testing.T, s kv.Store, key string) {
	t.Helper()
	r, err := kv.One(ctx, s, kv.OpGet(key))
	must(t, err)
	r.Value[len(r.Value)/2] ^= 0x10
	_, err = kv.One(ctx, s, kv.OpSet(key, r.Value))
	must(t, err)
}

func wantMended(t *testing.T, mend, verify func() (ranking.Report, error), damaged string) {
	t.Helper()
	r, err := verify()
	must(t, err)
	if diff := cmp.Diff([]string{damaged}, r.Damaged); diff != "" {
		t.Errorf("damaged mismatch (-want +got):\n%s", diff)
	}
	_, err = mend()
	must(t, err)
	r, err = verify()
	must(t, err)
	if len(r.Damaged)+len(r.Missing)+len(r.Wrong)+r.Stale+r.Pending > 0 {
		t.Errorf("after Mend: %+v", r)
	}
}

func TestBoard_Mend_WritesADamagedRecordAgainAsTheCounterSays(t *testing.T) {
	eachStore(t, func(t *testing.T, a *articles) {
		hits(t, a, "tea", map[string]int{"a": 3, "b": 5, "c": 1})
		flush(t, a)
		_, err := kv.One(ctx, a.views.s, kv.OpSet(a.views.key("c"), []byte("9")))
		must(t, err)
		flip(t, a.views.s, "rank:Article:TopViews:i:c")
		wantMended(t, func() (ranking.Report, error) { return a.TopViews.Mend(ctx) }, func() (ranking.Report, error) { return a.TopViews.Verify(ctx) }, "c")
		checkCounted(t, a, map[string]int64{"a": 3, "b": 5, "c": 9})
	})
}

func TestBoard_Mend_OfADamagedRecordKnowsThatTheModelsIsGone(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	a := openArticles(plain{mem}, ranking.Windowed)
	defer a.db.Close(ctx)
	hits(t, a, "tea", map[string]int{"a": 3, "b": 5})
	flush(t, a)
	must(t, a.Delete(ctx, "b"))
	flush(t, a)
	flip(t, mem, "rank:Article:TopViews:i:b")
	wantMended(t, func() (ranking.Report, error) { return a.TopViews.Mend(ctx, "b") }, func() (ranking.Report, error) { return a.TopViews.Verify(ctx, "b") }, "b")
	checkCounted(t, a, map[string]int64{"a": 3, "b": 5})
}

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
	_ = a.views.Hit(ctx, "a") // The other board cannot follow.
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
