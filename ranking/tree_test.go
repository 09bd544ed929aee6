package ranking_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// openTree returns a tree with n members, of which each later one has a higher
// score, in a store without powers.
func openTree(t *testing.T, s kv.Store, n int) (*kvmodel.DB, *ranking.Tree[int64]) {
	t.Helper()
	db, err := kvmodel.Open(plain{s}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	tree := hitTree(db, ranking.Windowed)
	for i := range n {
		if err := tree.Set(ctx, memberID(i), int64(i)); err != nil {
			t.Fatal(err)
		}
	}
	return db, tree
}

// wantMembers asserts that got are the members i down to j of a tree of n.
func wantMembers(t *testing.T, got []ranking.Member[int64], n, i, j int) {
	t.Helper()
	var want []ranking.Member[int64]
	for ; i >= j; i-- {
		want = append(want, ranking.Member[int64]{Rank: n - i, Score: int64(i), ID: memberID(i)})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mismatch (-want +got):\n%s", diff)
	}
}

func TestTree_AnswersAsABoardDoes(t *testing.T) {
	ranking.SmallLeaves(t)
	db, tree := openTree(t, memkv.New(memkv.Options{}), 50)
	defer db.Close(ctx)
	if err := db.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if rank, err := tree.Rank(ctx, memberID(40)); rank != 10 || err != nil {
		t.Errorf("rank %d, %v; want 10", rank, err)
	}
	around, err := tree.Around(ctx, memberID(40), 2)
	if err != nil {
		t.Fatal(err)
	}
	wantMembers(t, around, 50, 42, 38)
	at, err := tree.At(ctx, 48, 9)
	if err != nil {
		t.Fatal(err)
	}
	wantMembers(t, at, 50, 2, 0)
	if n, err := tree.Count(ctx, 10, 20); n != 10 || err != nil {
		t.Errorf("%d between, %v; want 10", n, err)
	}
	_, missing := tree.Around(ctx, "nobody", 2)
	_, unranked := tree.Rank(ctx, "nobody")
	if !errors.Is(missing, kv.ErrNotFound) || !errors.Is(unranked, kv.ErrNotFound) {
		t.Errorf("of no member: %v and %v; want ErrNotFound", missing, unranked)
	}
	if _, err := tree.At(ctx, 0, 1); !errors.Is(err, kvmodel.ErrInvalid) {
		t.Error("at rank 0:", err)
	}
	if stats := tree.Stats(); stats.Routers == 0 || stats.Bytes == 0 || stats.Lost != 0 {
		t.Errorf("stats: %+v", stats)
	}
}

func TestTree_Page_GoesBothWaysAndRefusesCursorsOfTheOther(t *testing.T) {
	db, tree := openTree(t, memkv.New(memkv.Options{}), 20)
	defer db.Close(ctx)
	first, next, _, err := tree.Page(ctx, "", 15)
	if err != nil {
		t.Fatal(err)
	}
	second, end, prev, err := tree.Page(ctx, next, 15)
	if err != nil || end != "" {
		t.Fatalf("the second page: %q, %v", end, err)
	}
	back, _, _, err := tree.Page(ctx, prev, 15)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, back); diff != "" || len(second) != 5 {
		t.Errorf("%d on the second page; the first again: mismatch (-want +got):\n%s", len(second), diff)
	}
	if _, _, _, err := tree.Ascending().Page(ctx, next, 15); !errors.Is(err, kvmodel.ErrBadCursor) {
		t.Error("a cursor of the other direction:", err)
	}
}

func TestTree_Delete_RemovesTheMemberAndNoOther(t *testing.T) {
	db, tree := openTree(t, memkv.New(memkv.Options{}), 5)
	defer db.Close(ctx)
	for range 2 { // The second time there is nothing to delete.
		if err := tree.Delete(ctx, memberID(2)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tree.Get(ctx, memberID(2)); !errors.Is(err, kv.ErrNotFound) {
		t.Error("a deleted member:", err)
	}
	var got []string
	members, err := tree.At(ctx, 1, 9)
	for _, m := range members {
		got = append(got, m.ID)
	}
	if diff := cmp.Diff([]string{"m4", "m3", "m1", "m0"}, got); diff != "" || err != nil {
		t.Errorf("%v, mismatch (-want +got):\n%s", err, diff)
	}
	if n, err := tree.Len(ctx); n != 4 || err != nil {
		t.Errorf("%d members, %v; want 4", n, err)
	}
}

func TestTree_Follow_MakesTheHighestCountOfAWindowTheScore(t *testing.T) {
	for name, batch := range map[string]ranking.Batch{"windowed": ranking.Windowed, "every": ranking.Every} {
		t.Run(name, func(t *testing.T) {
			db, err := kvmodel.Open(memkv.New(memkv.Options{}))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close(ctx)
			tree := hitTree(db, batch)
			for _, count := range []int64{1, 2, 7} {
				if err := tree.Follow(ctx, "x", count); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Flush(ctx); err != nil {
				t.Fatal(err)
			}
			if got, err := tree.Get(ctx, "x"); got != 7 || err != nil {
				t.Errorf("%d, %v; want 7", got, err)
			}
		})
	}
}

// lose deletes a node of the tree from the store, as a cache that evicts does.
func lose(t *testing.T, s *memkv.Store) {
	t.Helper()
	for _, key := range s.Keys() {
		if !strings.HasPrefix(key, "rank:hits:") || !strings.Contains(key, ":key0") || strings.HasSuffix(key, ":key0") {
			continue
		}
		r, err := kv.One(ctx, s, kv.OpGet(key))
		if err == nil && strings.Contains(string(r.Value), "m1") {
			if _, err := kv.One(ctx, s, kv.OpDelete(key)); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("no node can be lost")
}

func TestTree_AfterANodeIsLostItsMembersAreBroughtBack(t *testing.T) {
	ranking.SmallLeaves(t)
	var ids []string
	for i := range 50 {
		ids = append(ids, memberID(i))
	}
	for name, repair := range map[string]func(*ranking.Tree[int64]) error{
		"mend": func(tree *ranking.Tree[int64]) error {
			_, err := tree.Mend(ctx, ids...)
			return err
		},
		"rebuild": func(tree *ranking.Tree[int64]) error { return tree.Rebuild(ctx, ids...) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := memkv.New(memkv.Options{})
				db, tree := openTree(t, s, 50)
				defer db.Close(ctx)
				lose(t, s)
				if before, err := tree.Verify(ctx, ids...); err != nil || before.Lost != 1 || len(before.Missing) == 0 {
					t.Fatalf("nothing is lost: %+v, %v", before, err)
				}
				if err := repair(tree); err != nil {
					t.Fatal(err)
				}
				after, err := tree.Verify(ctx, ids...)
				if err != nil || after.Members != 50 || after.Lost+len(after.Missing)+len(after.Wrong) > 0 {
					t.Errorf("after: %+v, %v", after, err)
				}
				all, err := tree.At(ctx, 1, 100)
				if err != nil {
					t.Fatal(err)
				}
				wantMembers(t, all, 50, 49, 0)
			})
		})
	}
}

// Scores that only rise leave empty nodes behind.
func TestTree_Rebuild_LeavesFewerNodes(t *testing.T) {
	ranking.SmallLeaves(t)
	synctest.Test(t, func(t *testing.T) {
		db, tree := openTree(t, memkv.New(memkv.Options{}), 40)
		defer db.Close(ctx)
		for i := range 40 {
			if err := tree.Add(ctx, memberID(i), 1e6); err != nil {
				t.Fatal(err)
			}
		}
		before, err := tree.Verify(ctx)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := tree.Rebuild(ctx); err != nil {
			t.Fatal(err)
		}
		after, err := tree.Verify(ctx)
		if err != nil || after.Members != 40 || after.Leaves >= before.Leaves {
			t.Errorf("%d leaves before, after: %+v, %v", before.Leaves, after, err)
		}
		if took := time.Since(began).Round(time.Second); took < 40*time.Second || took > time.Minute {
			t.Error("a rebuild took", took)
		}
	})
}
