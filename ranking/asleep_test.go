package ranking_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
)

// sleeper is a shared store with transactions. Its process sleeps before its next transaction.
type sleeper struct {
	*memkv.Store
	asleep atomic.Int64
}

func (s *sleeper) Close() error { return nil }

func (s *sleeper) Powers() kv.Powers {
	p := s.Store.Powers()
	p.Alone = false
	transact := p.Atomic
	p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
		time.Sleep(time.Duration(s.asleep.Swap(0)))
		return transact(ctx, f)
	}
	return p
}

func TestBoard_BuiltWhileAWriterSleepsBeforeItsTransaction_HasTheRecordOrSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := memkv.New(memkv.Options{})
		s := &sleeper{Store: mem}
		old, db := openRecords(s)
		must(t, old.Create(ctx, &article{ID: "a", Stock: 1}))
		s.asleep.Store(int64(3 * time.Minute))
		done := make(chan error, 1)
		go func() { done <- old.Create(context.WithoutCancel(ctx), &article{ID: "b", Stock: 2}) }()
		time.Sleep(time.Second)
		newer := openArticles(&sleeper{Store: mem}, ranking.Windowed)
		for try := 0; newer.Rebuild(ctx) != nil && try < 10; try++ {
			time.Sleep(time.Second)
		}
		must(t, <-done)
		time.Sleep(time.Minute)
		if n, err := newer.TopStock.Len(ctx); n != 2 && !errors.Is(err, kvmodel.ErrNeedsRebuild) {
			t.Errorf("two records were acknowledged, and the board has %d, %v", n, err)
		}
		must(t, newer.db.Close(ctx))
		must(t, db.Close(ctx))
	})
}

// Each process, some of a release without boards, may sleep for minutes at any operation, while
// others rebuild.
func TestSweep_ABoardThatHasLostANodeHasWhatSleepersAcknowledgedOrSaysSo(t *testing.T) {
	for name, powers := range map[string]kvtest.Powers{"plain": kvtest.NoPowers, "server": kvtest.ServerPowers, "transactions": kvtest.AllPowers} {
		t.Run(name, func(t *testing.T) { sweepAsleep(t, 20, powers) })
	}
}

func sweepAsleep(t *testing.T, seeds int, powers kvtest.Powers) {
	ranking.SmallLeaves(t)
	var sim *kvtest.Sim
	var count int
	var loses, sleeps map[int]bool
	world := kvtest.World{Powers: powers, Pause: 0.001, MaxSteps: 40_000, Fault: func(m kvtest.Moment) kvtest.Fault {
		if !strings.HasPrefix(m.Client, "p") {
			return kvtest.None
		}
		count++
		if nodes := nodesIn(sim.Store()); loses[count] && len(nodes) > 0 {
			sim.Evict(nodes[sim.Rand().IntN(len(nodes))])
		}
		if sleeps[count] {
			sim.Sleep(m.Client, time.Minute+time.Duration(sim.Rand().IntN(240))*time.Second)
		}
		return kvtest.None
	}}
	proof.Sweep(t, seeds, world, func(s *kvtest.Sim) {
		sim, count, loses, sleeps = s, 0, map[int]bool{}, map[int]bool{}
		for range 2 {
			loses[1+s.Rand().IntN(300)] = true
			for range 4 {
				sleeps[1+s.Rand().IntN(500)] = true
			}
		}
		open := openAny(s)
		first := open(s.Still())
		for i := range 12 {
			must(t, first.Create(ctx, &article{ID: fmt.Sprint("a", i), Stock: int64(i), Price: float64(i), Category: "tea", Title: titles[i%len(titles)]}))
		}
		must(t, first.db.Close(ctx))
		for p := range 3 {
			rng := rand.New(rand.NewPCG(s.Seed(), uint64(p)))
			s.Go(fmt.Sprint("p", p), func(store kv.Store) { writeAsleep(store, rng, p == 2 && s.Seed()%2 == 0, open) })
		}
		for b := range 2 {
			s.Go(fmt.Sprint("builder", b), func(store kv.Store) { rebuildNow(open(store), s.Rand().IntN(60), b == 0) })
		}
		s.Wait()
		repairAll(s, open)
		last := open(s.Still())
		all, titled := records(s.T(), last), 0
		for _, v := range all {
			titled += min(1, len(v.Title))
		}
		boards := map[kvmodel.Lister[article]]int{last.TopStock: len(all), last.Titles: titled}
		for board, want := range boards {
			if l, err := board.Page(ctx, "", 50); err == nil && len(l.Items) != want {
				s.T().Errorf("a board shows %d of %d records", len(l.Items), want)
			} else if err != nil && !errors.Is(err, kvmodel.ErrNeedsRebuild) {
				s.T().Error(err)
			}
		}
		for range 3 {
			if last.Rebuild(ctx) == nil {
				break
			}
		}
		for board, want := range boards {
			if got := allOf(s.T(), board, 50); len(got) != want {
				s.T().Errorf("after a rebuild, a board shows %d of %d records", len(got), want)
			}
		}
		must(s.T(), last.db.Close(ctx))
	})
}

// nodesIn leaves out boards of one value: a rebuild finds no node of these to which no record leads.
func nodesIn(mem *memkv.Store) []string {
	return slices.DeleteFunc(slices.Sorted(slices.Values(mem.Keys())), func(key string) bool {
		return !strings.Contains(key, ":key0") || strings.Contains(key, "TopStockBy") || strings.Contains(key, "#h")
	})
}

func writeAsleep(s kv.Store, rng *rand.Rand, old bool, open func(kv.Store) *articles) {
	var all *kvmodel.Records[article, string]
	var db *kvmodel.DB
	if old {
		all, db = openRecords(s)
	} else {
		a := open(s)
		all, db = a.Records, a.db
	}
	for range 8 {
		inTenMinutes(func(ctx context.Context) error {
			return all.Put(ctx, &article{ID: fmt.Sprint("a", rng.IntN(20)), Stock: rng.Int64N(60), Price: float64(rng.IntN(60)), Category: "tea", Title: titles[rng.IntN(len(titles))]})
		})
		time.Sleep(time.Duration(rng.IntN(8000)) * time.Millisecond)
	}
	inTenMinutes(db.Close)
}

func inTenMinutes(work func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	_ = work(ctx)
}

func rebuildNow(a *articles, wait int, all bool) {
	for range 4 {
		time.Sleep(time.Duration(wait) * time.Second)
		inTenMinutes(func(ctx context.Context) error {
			if all {
				return a.Rebuild(ctx)
			}
			_, err := a.TopStock.Mend(ctx)
			return err
		})
	}
	inTenMinutes(a.db.Close)
}
