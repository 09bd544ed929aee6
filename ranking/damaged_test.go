package ranking_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// flip changes one bit of what stands under key.
func flip(t *testing.T, s kv.Store, key string) {
	t.Helper()
	r, err := kv.One(ctx, s, kv.OpGet(key))
	must(t, err)
	r.Value[len(r.Value)/2] ^= 0x10
	_, err = kv.One(ctx, s, kv.OpSet(key, r.Value))
	must(t, err)
}

// wantMended has a board or a tree find damaged and mend that, and asserts that it is sound then.
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

func TestTree_Mend_WritesADamagedRecordAgainAsItsEntrySays(t *testing.T) {
	ranking.SmallLeaves(t)
	mem := memkv.New(memkv.Options{})
	db, tree := openTree(t, mem, 20)
	defer db.Close(ctx)
	flip(t, mem, "rank:hits:i:m7")
	wantMended(t, func() (ranking.Report, error) { return tree.Mend(ctx) }, func() (ranking.Report, error) { return tree.Verify(ctx) }, "m7")
	score, err := tree.Get(ctx, "m7")
	if rank, errRank := tree.Rank(ctx, "m7"); score != 7 || rank != 13 || err != nil || errRank != nil {
		t.Errorf("score %d (%v), rank %d (%v); want 7, 13", score, err, rank, errRank)
	}
}

// No entry says anything of a member that was removed.
func TestTree_Mend_OfARemovedMemberLeavesItRemoved(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	db, tree := openTree(t, mem, 3)
	defer db.Close(ctx)
	must(t, tree.Delete(ctx, "m1"))
	flip(t, mem, "rank:hits:i:m1")
	wantMended(t, func() (ranking.Report, error) { return tree.Mend(ctx, "m1") }, func() (ranking.Report, error) { return tree.Verify(ctx, "m1") }, "m1")
	if _, err := tree.Get(ctx, "m1"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Get: %v, want ErrNotFound", err)
	}
}

func TestTree_Add_ToADamagedMemberDoesNotBeginAtZero(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	db, tree := openTree(t, mem, 3)
	defer db.Close(ctx)
	flip(t, mem, "rank:hits:i:m2")
	if err := tree.Add(ctx, "m2", 5); !errors.Is(err, kvmodel.ErrCorrupt) {
		t.Errorf("Add: %v, want ErrCorrupt", err)
	}
	must(t, tree.Hit(ctx, "m2"))
	if err := db.Flush(ctx); !errors.Is(err, kvmodel.ErrCorrupt) {
		t.Errorf("the first Flush: %v, want ErrCorrupt", err)
	}
	must(t, db.Flush(ctx)) // It is not tried for ever.
	_, err := tree.Mend(ctx)
	must(t, err)
	must(t, tree.Add(ctx, "m2", 5))
	if score, err := tree.Get(ctx, "m2"); score != 7 || err != nil {
		t.Errorf("score %d, %v; want 7", score, err)
	}
}

func TestTree_Delete_OfADamagedMemberTakesItOut(t *testing.T) {
	mem := memkv.New(memkv.Options{})
	db, tree := openTree(t, mem, 3)
	defer db.Close(ctx)
	flip(t, mem, "rank:hits:i:m2")
	must(t, tree.Delete(ctx, "m2"))
	if _, err := tree.Get(ctx, "m2"); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("Get: %v, want ErrNotFound", err)
	}
	members, _, _, err := tree.Page(ctx, "", 10)
	must(t, err)
	if len(members) != 2 {
		t.Errorf("a page shows %v", members)
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
