package ranking_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// eachWriter runs n writers side by side on one store, each with a DB of its own,
// as processes have.
func eachWriter(t *testing.T, s kv.Store, n int, work func(db *kvmodel.DB) error) {
	t.Helper()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			db, err := kvmodel.Open(s, quiet)
			if err == nil {
				err = errors.Join(work(db), db.Close(ctx))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func TestTree_Hit_LosesNoneOf64WritersOfOneMember(t *testing.T) {
	const writers, hits = 64, 25
	for name, batch := range map[string]ranking.Batch{"windowed": ranking.Windowed, "every": ranking.Every} {
		t.Run(name, func(t *testing.T) {
			s := still{memkv.New(memkv.Options{})}
			var refused atomic.Int64
			eachWriter(t, s, writers, func(db *kvmodel.DB) error {
				tree := hitTree(db, batch)
				for range hits {
					switch err := tree.Hit(ctx, "hot"); {
					case errors.Is(err, kv.ErrConflict):
						refused.Add(1) // It was not counted, and says so.
					case err != nil:
						return err
					}
				}
				// What a flush fails to write is gathered again.
				for tries := 0; ; tries++ {
					if err := db.Flush(ctx); err == nil || tries == 5 {
						return err
					}
				}
			})
			db, err := kvmodel.Open(s)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close(ctx)
			tree := hitTree(db, batch)
			want := writers*hits - refused.Load()
			if got, err := tree.Get(ctx, "hot"); got != want || err != nil {
				t.Errorf("%d hits, %v; want %d", got, err, want)
			}
			if refused.Load() > writers*hits/2 {
				t.Errorf("%d of %d hits were refused", refused.Load(), writers*hits)
			}
			if report, err := tree.Verify(ctx, "hot"); err != nil || len(report.Wrong)+len(report.Missing) > 0 || report.Members != 1 {
				t.Errorf("verify: %+v, %v", report, err)
			}
		})
	}
}

// refusing is a store that refuses to write nodes once a member's own record is
// written, as if the process had died then.
type refusing struct {
	kv.Store
	on, dead atomic.Bool
}

func (r *refusing) Powers() kv.Powers { return kv.Powers{} }

func (r *refusing) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		op := &ops[i]
		if r.dead.Load() && op.Kind != kv.Get && strings.HasPrefix(op.Key, "rank:") {
			op.Result = kv.Result{Err: kv.ErrUnavailable}
			continue
		}
		_ = r.Store.Do(ctx, ops[i:i+1])
		if r.on.Load() && op.Kind == kv.CompareAndSwap && strings.HasPrefix(op.Key, "rank:Article:TopViews:i:") {
			r.dead.Store(true)
		}
	}
	return nil
}

// A process that dies while it moves a member leaves the old entry, which counts
// for nothing. The next page that meets the entry has it removed.
func TestBoard_ByACounterRemovesTheOldEntryThatADeadProcessLeft(t *testing.T) {
	ranking.SmallLeaves(t)
	s := memkv.New(memkv.Options{})
	r := &refusing{Store: s}
	a := openArticles(r, ranking.Every)
	hits(t, a, "tea", map[string]int{"a": 1, "b": 300, "c": 40, "d": 9, "e": 70, "f": 130})
	flush(t, a)
	r.on.Store(true)
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

// down is a store that answers only while it is up.
type down struct {
	kv.Store
	up atomic.Bool
}

func (d *down) Powers() kv.Powers { return kv.Powers{} }

func (d *down) Do(ctx context.Context, ops []kv.Op) error {
	if d.up.Load() {
		return d.Store.Do(ctx, ops)
	}
	for i := range ops {
		ops[i].Result = kv.Result{Err: kv.ErrUnavailable}
	}
	return kv.ErrUnavailable
}

func TestTree_Hit_WaitsForAStoreThatIsDownWhileThereIsRoom(t *testing.T) {
	ranking.SmallWindows(t)
	s := &down{Store: memkv.New(memkv.Options{})}
	s.up.Store(true)
	db, err := kvmodel.Open(s, quiet)
	if err != nil {
		t.Fatal(err)
	}
	tree := hitTree(db, ranking.Windowed)
	s.up.Store(false)
	for range 30 {
		if err := tree.Hit(ctx, "x"); err != nil {
			t.Fatal(err)
		}
		if err := db.Flush(ctx); !errors.Is(err, kv.ErrUnavailable) {
			t.Fatal("a flush to a store that is down:", err)
		}
	}
	hits := 0
	for {
		err := tree.Hit(ctx, memberID(hits))
		if errors.Is(err, kv.ErrUnavailable) {
			break
		}
		if err != nil || hits > 1<<16 {
			t.Fatal(hits, err)
		}
		hits++
	}
	s.up.Store(true)
	if err := db.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	if err := tree.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	if n, err := tree.Len(ctx); n != hits+1 || err != nil {
		t.Errorf("%d members, %v; want %d", n, err, hits+1)
	}
	if got, err := tree.Get(ctx, "x"); got != 30 || err != nil {
		t.Errorf("%d hits, %v; want 30", got, err)
	}
	if err := db.Close(ctx); err != nil {
		t.Error(err)
	}
}
