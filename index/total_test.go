package index_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type leaf struct {
	ID   string
	Tree string
	N    int
}

type leaves struct {
	*kvmodel.Records[leaf, string]
	*index.Total[leaf, string]
	db      *kvmodel.DB
	ByTree  *index.Lists[leaf, string, string]
	History *kvmodel.History[leaf, string]
}

// newBareLeaves returns the leaves of a release that does not count them.
func newBareLeaves(db *kvmodel.DB) *leaves { return newLeavesWithout(db, kvmodel.Gone{}) }

func newLeavesWithout(db *kvmodel.DB, gone kvmodel.Gone) *leaves {
	r := kvmodel.NewRecords(db, schemaOf("Leaf", func(v *leaf) *string { return &v.ID }, func(s *kvmodel.Schema[leaf, string]) {
		s.History = 10
		s.Gone = gone
	}))
	return &leaves{
		Records: r, db: db, History: kvmodel.NewHistory(r),
		ByTree: index.NewLists(r, kvmodel.IndexSpec[leaf, string]{
			Name: "ByTree", Def: "list Tree string", Fields: []string{"Tree"}, Key: kvmodel.StringKey[string](),
			Values: func(v *leaf) []string { return []string{v.Tree} },
		}),
	}
}

func newLeaves(db *kvmodel.DB) *leaves {
	l := newBareLeaves(db)
	l.Total = index.NewTotal(l.Records)
	return l
}

func (l *leaves) want(t testing.TB, ctx context.Context, want int) {
	t.Helper()
	if n, err := l.Count(ctx); err != nil || n != want {
		t.Errorf("Count %d, %v, want %d", n, err, want)
	}
}

func someLeaves(prefix string, n int) (all []*leaf) {
	for i := range n {
		all = append(all, &leaf{ID: fmt.Sprint(prefix, i), Tree: "oak"})
	}
	return all
}

func leafIDs(all []*leaf) []string { return kv.Texts(all, func(v *leaf) string { return v.ID }) }

func tripsOf(t testing.TB, ctx context.Context, f func(ctx context.Context) error) int {
	t.Helper()
	ctx, m := kv.Metered(ctx)
	must(t, f(ctx))
	return m.Cost().Trips
}

// The hash that chooses the shard of a record is part of the stored format.
func TestTotal_TheShardsAreThoseOfTheFormat(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	l := newLeaves(closing(t, open(t, mem)))
	for id, want := range map[string]string{"a": "4", "01ja8z5m3q7w9x2c4v6b8n0kdr": "41", "a b": "26"} {
		must(t, l.Create(ctx, &leaf{ID: id}))
		at := slices.DeleteFunc(mem.Keys(), func(key string) bool { return !strings.HasPrefix(key, "l:Leaf:count:") })
		if !slices.Equal(at, []string{"l:Leaf:count:" + want + "#0"}) {
			t.Errorf("%q is counted in %q, want the shard %s", id, at, want)
		}
		must(t, l.Purge(ctx, id))
	}
}

func TestTotal_PurgeLeavesNothingOfTheID(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
		l := newLeaves(closing(t, open(t, s)))
		must(t, l.Create(ctx, &leaf{ID: "secret"}))
		must(t, l.Purge(ctx, "secret"))
		l.want(t, ctx, 0)
		must(t, l.db.Flush(ctx))
		for _, key := range mem.Keys() {
			r, err := kv.One(ctx, mem, kv.OpGet(key))
			must(t, err)
			if strings.HasPrefix(key, "l:Leaf:count:") || strings.HasPrefix(key, "c:Leaf:count:") || strings.Contains(string(r.Value), "secret") {
				t.Errorf("%s is left: %q", key, r.Value)
			}
		}
	})
}

func TestTotal_ANumberThatTheStoreHasDroppedIsReadFromItsList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		l := newLeaves(closing(t, open(t, still{mem})))
		must(t, l.CreateMulti(ctx, someLeaves("a", 500)))
		must(t, l.db.Flush(ctx))
		l.want(t, ctx, 500)
		mem.Evict("c:Leaf:count:7", "c:Leaf:count:63")
		l.want(t, ctx, 500)
		proof.Equal(t, l.db.Stats().InDoubt, 2, "counts are in doubt")
		time.Sleep(2 * time.Minute)
		proof.Equal(t, l.db.Stats().InDoubt, 0, "counts are in doubt")
		if n := tripsOf(t, ctx, func(ctx context.Context) error { l.want(t, ctx, 500); return nil }); n > 2 {
			t.Errorf("%d trips", n) // built may have to be read again
		}
	})
}

// Count remembers that the shard has no number.
func TestTotal_ANumberThatWasDroppedBeforeItWasReadIsReadFromItsList(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	l := newLeaves(closing(t, open(t, still{mem})))
	l.want(t, ctx, 0)
	must(t, l.Create(ctx, &leaf{ID: "a"}))
	must(t, l.db.Flush(ctx))
	mem.Evict("c:Leaf:count:4")
	l.want(t, ctx, 1)
}

func TestTotal_AReaderThatMayNotWriteDoubtsNothing(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	l := newLeaves(open(t, still{mem}))
	must(t, l.CreateMulti(ctx, someLeaves("a", 300)))
	must(t, l.db.Close(ctx))
	mem.Evict("c:Leaf:count:7")
	db, err := kvmodel.Open(still{mem}, kvmodel.ReadOnly())
	must(t, err)
	reader := newLeaves(db)
	reader.want(t, ctx, 300)
	proof.Equal(t, db.Stats().InDoubt, 0, "counts are in doubt")
	must(t, db.Close(ctx))
}

func TestTotal_RebuildCountsShardsThatHaveNoRecord(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store) {
		synctest.Test(t, func(t *testing.T) {
			ctx, l := t.Context(), newLeaves(closing(t, open(t, shared{s})))
			must(t, l.Create(ctx, &leaf{ID: "a"}))
			must(t, l.db.Flush(ctx))
			for i := range 64 {
				proof.Done(t)(kv.One(ctx, mem, kv.OpSet(fmt.Sprint("c:Leaf:count:", i), []byte(fmt.Sprint(zero+5)))))
			}
			l.want(t, ctx, 64*5)
			must(t, l.Rebuild(ctx))
			l.want(t, ctx, 1)
		})
	})
}

// The total of a model that was never counted would be far off.
func TestTotal_CannotBeReadBeforeItsRecordsWereCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		before := newBareLeaves(open(t, still{mem}))
		must(t, before.CreateMulti(ctx, someLeaves("a", 300)))
		must(t, before.db.Close(ctx))

		l := newLeaves(closing(t, open(t, still{mem})))
		busy, end := context.WithCancel(ctx)
		var writing sync.WaitGroup
		writing.Go(func() {
			for busy.Err() == nil {
				must(t, l.Put(ctx, &leaf{ID: "busy"}))
				must(t, l.Delete(ctx, "busy"))
				time.Sleep(3 * time.Second)
			}
		})
		if err := l.Rebuild(ctx); !errors.Is(err, kvmodel.ErrNotYet) || !strings.Contains(err.Error(), "it cannot be read yet") {
			t.Errorf("the rebuild of a busy model: %v", err)
		}
		if n, err := l.Count(ctx); !errors.Is(err, kvmodel.ErrNeedsRebuild) {
			t.Errorf("Count %d, %v, want an ErrNeedsRebuild", n, err)
		}
		proof.Ends(t, nil)(l.ByTree.Of("oak").Count(ctx))
		end()
		writing.Wait()
		must(t, l.Rebuild(ctx))
		l.want(t, ctx, 300)
	})
}

func TestTotal_OfRecordsThatExpireIsRefused(t *testing.T) {
	db := closing(t, open(t, memkv.New(memkv.Options{})))
	defer func() {
		proof.Contains(t, fmt.Sprint(recover()), "Book cannot be counted: they expire")
	}()
	index.NewTotal(newBooks(db).Records)
}
