package ranking_test

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// fill leaves no room in the queue of db until free is closed.
func fill(db *kvmodel.DB, free <-chan struct{}) {
	for db.Soon(func(context.Context) error { <-free; return nil }) {
	}
}

func TestBoard_ByACounter_GoesOnFollowingAfterAnOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, free := openArticles(plain{memkv.New(memkv.Options{})}, ranking.Windowed), make(chan struct{})
		must(t, a.Create(ctx, &article{ID: "a"}))
		fill(a.db, free)
		must(t, a.views.Hit(ctx, "a"))
		time.Sleep(5 * time.Second) // The window has been due for long.
		close(free)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		checkCounted(t, a, map[string]int64{"a": 1})
		must(t, a.views.Hit(ctx, "a"))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		checkCounted(t, a, map[string]int64{"a": 2})
		must(t, a.db.Close(ctx))
	})
}

func isRouter(value []byte) bool { return len(value) > 3 && string(value[:3]) == "K1R" }

func TestBoard_ReportsAreMadeAfterAnOutageOfMuchElse(t *testing.T) {
	ranking.SmallLeaves(t)
	synctest.Test(t, func(t *testing.T) {
		var away atomic.Bool // for routers: no reports of nodes are taken
		a := openArticles(filtered{memkv.New(memkv.Options{}), func(op *kv.Op) bool {
			return away.Load() && op.Kind == kv.CompareAndSwap && isRouter(op.Value)
		}}, ranking.Windowed)
		must(t, a.CreateMulti(ctx, manyArticles(40, func(i int, v *article) { v.Stock = int64(i) })))
		flush(t, a)
		away.Store(true)
		for a.db.Surely(ctx, func(context.Context) error {
			if away.Load() {
				return errors.New("away, too")
			}
			return nil
		}) == nil {
		}
		for i := range 20 {
			must(t, a.Delete(ctx, memberID(i)))
		}
		if err := a.db.Flush(ctx); err == nil {
			t.Error("Flush says nothing of the reports that failed")
		}
		away.Store(false)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		checkNumbers(t, a, records(t, a))
		_ = a.db.Close(ctx) // The lines of the deletions may be left to repair.
	})
}

func TestBoard_ByACounter_OfAClosedDBAsksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var trips atomic.Int64
		a := openArticles(counting(&trips), ranking.Windowed)
		must(t, a.views.Hit(ctx, "a"))
		must(t, a.db.Close(ctx))
		before := trips.Load()
		must(t, a.views.followers[0].Counted(ctx, "a", 1, 2))
		time.Sleep(time.Minute)
		synctest.Wait()
		if late := trips.Load() - before; late > 0 {
			t.Errorf("%d trips after Close", late)
		}
	})
}

// unreported is a store that answers no write of a router while it is on, and carries out some.
type unreported struct {
	kv.Store
	on    atomic.Bool
	write func() bool
}

func (u *unreported) Powers() kv.Powers { return kv.Powers{} }
func (u *unreported) Close() error      { return nil }

func (u *unreported) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		router := u.on.Load() && ops[i].Kind == kv.CompareAndSwap && isRouter(ops[i].Value)
		if !router || u.write() {
			_ = u.Store.Do(ctx, ops[i:i+1])
		}
		if router {
			ops[i].Result = kv.Result{Err: kv.ErrUnclear}
		}
	}
	return kv.Unanswered(ops)
}

func TestBoard_FlushMakesUpForReportsThatFailed(t *testing.T) {
	for name, odds := range map[string]int{"none is written": 0, "some are written": 3} {
		t.Run(name, func(t *testing.T) { failReports(t, odds) })
	}
}

func failReports(t *testing.T, odds int) {
	ranking.SmallLeaves(t)
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		rng := rand.New(rand.NewPCG(1, 2))
		u := &unreported{Store: memkv.New(memkv.Options{}), write: func() bool {
			mu.Lock()
			defer mu.Unlock()
			return odds > 0 && rng.IntN(odds) == 0
		}}
		a := openArticles(u, ranking.Windowed)
		must(t, a.CreateMulti(ctx, manyArticles(40, func(i int, v *article) { v.Stock = int64(i * 7 % 40) })))
		flush(t, a)
		u.on.Store(true)
		for i := range 10 {
			must(t, a.Delete(ctx, memberID(i)))
		}
		if err := a.db.Flush(ctx); err == nil && odds == 0 {
			t.Error("flush says nothing of the reports that failed")
		}
		u.on.Store(false)
		flush(t, a)
		checkNumbers(t, a, records(t, a))
		checkTidy(t, a)
		must(t, a.db.Close(ctx))
	})
}

func TestBoard_ByACounter_ABurstThatIsCutOffKeepsWhatItHasWritten(t *testing.T) {
	const n = 3_000
	var log proof.Log
	var left atomic.Int64 // writes before the store is too busy
	left.Store(1 << 40)
	s := filtered{memkv.New(memkv.Options{}), func(op *kv.Op) bool { return writesBoard(op) && left.Add(-1) < 0 }}
	db, err := kvmodel.Open(s, kvmodel.Log(slog.New(slog.NewTextHandler(&log, nil))))
	must(t, err)
	r := kvmodel.NewRecords(db, articleSchema())
	views := &counter{s: db.Store()}
	top := ranking.NewBoard(r, ranking.Spec[article, int64]{Name: "TopViews", Of: ranking.Int[int64](), Counter: views})
	for some := range slices.Chunk(manyArticles(n), 500) {
		must(t, r.CreateMulti(ctx, some))
	}
	must(t, db.Flush(ctx))
	left.Store(n / 2)
	for i := range n {
		must(t, views.Hit(ctx, memberID(i)))
	}
	err = db.Flush(ctx)
	if !errors.Is(err, kv.ErrUnavailable) || len(err.Error()) > 2000 {
		t.Errorf("flush: %d bytes: %.2000v", len(err.Error()), err)
	}
	report, err := top.Verify(ctx)
	if err != nil || report.Members < n/5 {
		t.Errorf("%d members are written, %v; want at least %d", report.Members, err, n/5)
	}
	left.Store(1 << 40)
	must(t, db.Flush(ctx))
	if report, err := top.Verify(ctx); err != nil || len(report.Wrong) > 0 || report.Members != n {
		t.Errorf("verify: %d members, %v, %v; want %d", report.Members, report.Wrong, err, n)
	}
	must(t, db.Close(ctx))
	for line := range strings.Lines(log.String()) {
		if len(line) > 2000 {
			t.Errorf("a line of the log has %d bytes: %.200s", len(line), line)
		}
	}
}

func TestBoard_ByACounter_WaitsForAStoreThatIsDownWhileThereIsRoom(t *testing.T) {
	ranking.SmallWindows(t)
	const members = 400
	var down atomic.Bool
	a := openArticles(filtered{memkv.New(memkv.Options{}), func(op *kv.Op) bool { return down.Load() && writesBoard(op) }}, ranking.Windowed)
	must(t, a.CreateMulti(ctx, manyArticles(members)))
	flush(t, a)
	down.Store(true)
	for i := range members {
		must(t, a.views.Hit(ctx, memberID(i)))
	}
	proof.Is(t, a.db.Flush(ctx), kv.ErrUnavailable)
	down.Store(false)
	flush(t, a)
	must(t, a.TopViews.Refresh(ctx))
	if n, err := a.TopViews.Len(ctx); n != 300 || err != nil {
		t.Errorf("%d of %d members waited, %v; want 300", n, members, err)
	}
	counts := map[string]int64{}
	for i := range members {
		must(t, a.views.Hit(ctx, memberID(i)))
		counts[memberID(i)] = 2
		if i%200 == 199 {
			flush(t, a)
		}
	}
	checkCounted(t, a, counts)
	must(t, a.db.Close(ctx))
}

func TestBatch_AKilledProcessLosesNoMoreThanItsWindow(t *testing.T) {
	const life, window = 4 * time.Second, 1100 * time.Millisecond
	for name, batch := range map[string]ranking.Batch{"windowed": ranking.Windowed, "sampled": ranking.Sampled, "every": ranking.Every} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				mem := memkv.New(memkv.Options{})
				var killed atomic.Bool
				a := openArticles(filtered{mem, func(*kv.Op) bool { return killed.Load() }}, batch)
				must(t, a.CreateMulti(ctx, manyArticles(killedMembers)))
				early := int64(0)
				for began := time.Now(); time.Since(began) < life; time.Sleep(5 * time.Millisecond) {
					for i := range killedMembers {
						must(t, a.views.Hit(ctx, memberID(i)))
					}
					if time.Since(began) < life-window {
						early++
					}
				}
				killed.Store(true)
				b := openArticles(still{mem}, batch)
				checkBoardOfKilled(t, b, batch, early)
				must(t, b.db.Close(ctx))
				_ = a.db.Close(ctx)
			})
		})
	}
}

const killedMembers = 10

// checkBoardOfKilled asserts that a board has the early counts, and all counts after the next hit.
func checkBoardOfKilled(t *testing.T, a *articles, batch ranking.Batch, early int64) {
	t.Helper()
	scores := func() map[string]int64 {
		places, err := a.TopViews.At(ctx, 1, 2*killedMembers)
		must(t, err)
		scores := make(map[string]int64)
		for _, p := range places {
			scores[p.Item.ID] = p.Score
		}
		return scores
	}
	if batch != ranking.Sampled {
		for i := range killedMembers {
			if got := scores()[memberID(i)]; got < early || early == 0 {
				t.Errorf("%s stands at %d, and %d were counted early", memberID(i), got, early)
			}
			must(t, a.views.Hit(ctx, memberID(i)))
		}
		flush(t, a)
	}
	now := scores()
	for i := range killedMembers {
		counts, err := a.views.Counts(ctx, a.db.Store(), []string{memberID(i)})
		must(t, err)
		if batch != ranking.Sampled && now[memberID(i)] != counts[0] || now[memberID(i)] > counts[0] {
			t.Errorf("%s stands at %d and was counted %d times", memberID(i), now[memberID(i)], counts[0])
		}
	}
}

func flip(t *testing.T, s kv.Store, key string) {
	t.Helper()
	r, err := kv.One(ctx, s, kv.OpGet(key))
	must(t, err)
	r.Value[len(r.Value)/2] ^= 0x10
	proof.Done(t)(kv.One(ctx, s, kv.OpSet(key, r.Value)))
}

func wantMended(t *testing.T, mend, verify func() (ranking.Report, error), damaged string) {
	t.Helper()
	r, err := verify()
	must(t, err)
	proof.NoDiff(t, cmp.Diff([]string{damaged}, r.Damaged), "damaged")
	proof.Done(t)(mend())
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
	proof.Done(t)(kv.One(ctx, s, kv.OpSet(a.views.key("a"), []byte("50"))))
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
