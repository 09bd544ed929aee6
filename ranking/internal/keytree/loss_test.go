package keytree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// witnessed opens the tree for a process that does its upkeep at once.
func witnessed(s kv.Store) *ranking {
	return open(s, func(c *Config) {
		c.Later = func(work func(context.Context, kv.Store) error) { _ = work(ctx, s) }
	})
}

type acked struct {
	mu      sync.Mutex
	scores  map[string]int64
	changes map[string]int // begun and ended; odd: under way
}

func (a *acked) set(r *ranking, id string, score int64) {
	a.begin(id)
	if r.change(id, To(FromInt(score))) == nil {
		a.end(id, score)
	}
}

func (a *acked) begin(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changes[id]++
}

func (a *acked) end(id string, score int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.scores[id] = score
	a.changes[id]++
}

func (a *acked) begun() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.changes)
}

// look asserts that a page shows every member that does not change meanwhile, or reports a loss. It
// reports whether the page was shown.
func (a *acked) look(t *testing.T, r *ranking) bool {
	before := a.begun()
	l, err := r.Page(ctx, r.s, Between{}, true, nil, 1000, Want{})
	if err != nil {
		proof.Is(t, err, kvmodel.ErrNeedsRebuild)
		return false
	}
	shown := make(map[string]Score)
	for _, m := range l.Members {
		shown[m.ID] = m.Score
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for id, n := range before {
		score, there := shown[id]
		if n%2 == 0 && a.changes[id] == n && (!there || score != FromInt(a.scores[id])) {
			t.Errorf("%s should be at %d and is not; %d of %d members are shown", id, a.scores[id], len(shown), len(before))
			return true
		}
	}
	return true
}

func TestSweep_WhatIsLostIsNeverTakenForEmpty(t *testing.T) {
	var sim *kvtest.Sim
	var count, at int
	world := kvtest.World{Pause: 0.01, Fault: func(m kvtest.Moment) kvtest.Fault {
		if !strings.HasPrefix(m.Client, "p") && m.Client != "reader" {
			return kvtest.None
		}
		if count++; count == at {
			keys := keysOfTree(sim.Store())
			sim.Evict(keys[sim.Rand().IntN(len(keys))])
		}
		return kvtest.None
	}}
	proof.Sweep(t, 40, world, func(s *kvtest.Sim) {
		sim, count, at = s, 0, 1+s.Rand().IntN(400)
		base := witnessed(keep{sim.Store()})
		a := grow(base)
		for p := range 2 {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(p)))
			sim.Go(fmt.Sprint("p", p), func(s kv.Store) {
				r := witnessed(s)
				for range 12 {
					a.set(r, idOf(p+2*rng.IntN(15)), rng.Int64N(60))
					time.Sleep(time.Duration(rng.IntN(8000)) * time.Millisecond)
				}
			})
		}
		sim.Go("reader", func(s kv.Store) {
			for range 12 {
				a.look(sim.T(), witnessed(s))
				time.Sleep(3 * time.Second)
			}
		})
		sim.Wait()
		time.Sleep(time.Minute)
		ids := slices.Collect(maps.Keys(a.changes))
		last := witnessed(keep{sim.Store()})
		a.look(sim.T(), last)
		if err := last.rebuild(ids...); err != nil {
			sim.T().Error("rebuild:", err)
		}
		if fresh := witnessed(keep{sim.Store()}); !a.look(sim.T(), fresh) || !a.look(sim.T(), last) {
			sim.T().Error("a rebuild does not make up for the loss")
		}
		base.checkInvariants(sim.T(), ids...)
		base.checkCounts(sim.T())
	})
}

func TestTree_AfterALossEveryPageIsRightOrRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for i := 0; ; i++ {
			mem, a := grownTree()
			r := witnessed(plain{mem})
			a.look(t, r)
			keys := keysOfTree(mem)
			if i == len(keys) {
				return
			}
			drop(t, mem, keys[i])
			fresh := witnessed(plain{mem})
			time.Sleep(time.Second)
			right := a.look(t, r) && a.look(t, fresh)
			if named := strings.HasSuffix(keys[i], ":meta") || strings.HasSuffix(keys[i], ":edge"); named && !right {
				t.Errorf("%s has a copy, and its loss is not made up for", keys[i])
			}
			a.set(r, "new", 7)
			a.set(fresh, idOf(3), 11)
			a.look(t, r)
			a.look(t, fresh)
			refused := !a.look(t, fresh)
			if err := fresh.Rebuild(ctx, fresh.s, nil, 0); (err != nil) != refused {
				t.Fatalf("without %s, pages are refused: %t, and a rebuild of what is left says %v", keys[i], refused, err)
			}
			if refused && a.look(t, fresh) {
				t.Errorf("without %s: a rebuild of what is left is taken for all", keys[i])
			}
			noUpkeep := open(plain{mem})
			if err := noUpkeep.rebuild(slices.Collect(maps.Keys(a.changes))...); err != nil {
				t.Fatalf("without %s: %v", keys[i], err)
			}
			if _, err := kv.One(ctx, mem, kv.OpDelete(r.metaKey())); err != nil || !a.look(t, witnessed(plain{mem})) {
				t.Errorf("without %s: after a rebuild, the definition has no copy: %v", keys[i], err)
			}
			if !a.look(t, r) || !a.look(t, fresh) {
				t.Errorf("without %s: a rebuild does not make up for it", keys[i])
			}
		}
	})
}

func TestTree_ALossDuringAPageIsNoticed(t *testing.T) {
	for lost := 0; ; lost += proof.Size(7, 1) {
		for lose, trips := 1, 1; lose <= trips; lose++ {
			for heal := lose + 1; heal <= trips+1; heal++ {
				mem, a := grownTree()
				keys := keysOfTree(mem)
				if lost >= len(keys) {
					return
				}
				s := &disturbed{Store: plain{mem}, at: map[int]func(){
					lose: func() { _, _ = kv.One(ctx, mem, kv.OpDelete(keys[lost])) },
					heal: func() { a.wander(witnessed(plain{mem})) },
				}}
				if a.look(t, witnessed(s)); t.Failed() {
					t.Fatalf("%s is lost before trip %d, and made again before trip %d", keys[lost], lose, heal)
				}
				trips = s.trips
			}
		}
	}
}

func TestTree_ALossIsNoticedByAPageOfOneMember(t *testing.T) {
	for lost := 0; ; lost++ {
		mem, a := grownTree()
		keys := keysOfTree(mem)
		if lost == len(keys) {
			return
		}
		r := witnessed(plain{mem})
		a.look(t, r)
		sound := r.latest()
		_, _ = kv.One(ctx, mem, kv.OpDelete(keys[lost]))
		a.wander(witnessed(plain{mem}))
		for i := wanderers; i < 30; i++ {
			r.meta, r.last, r.read = sound, sound, r.Now()
			low, high := FromInt(int64(i)), FromInt(int64(i+1))
			l, err := r.Page(ctx, r.s, Between{&low, &high}, false, nil, 100, Want{Placed: true})
			there := slices.ContainsFunc(l.Members, func(m Member) bool { return m.ID == idOf(i) })
			if wrong := !there || l.Total != 30 || l.Before != i; wrong && !errors.Is(err, kvmodel.ErrNeedsRebuild) {
				t.Fatalf("without %s, %s is on its page: %v, after %d of %d: %v", keys[lost], idOf(i), there, l.Before, l.Total, err)
			}
		}
	}
}

func grownTree() (*memkv.Store, *acked) {
	mem := memkv.New(memkv.Options{})
	return mem, grow(witnessed(plain{mem}))
}

func grow(r *ranking) *acked {
	a := &acked{scores: make(map[string]int64), changes: make(map[string]int)}
	for i := range 30 {
		a.set(r, idOf(i), int64(i))
	}
	return a
}

func keysOfTree(mem *memkv.Store) []string {
	return slices.DeleteFunc(slices.Sorted(slices.Values(mem.Keys())), func(key string) bool { return strings.Contains(key, ":i:") })
}

// wander moves some members through the whole tree to its lower end.
func (a *acked) wander(r *ranking) {
	for i := range wanderers {
		a.changes[idOf(i)]++
	}
	for score := int64(29); score >= -1; score -= 3 {
		for i := range wanderers {
			_ = r.change(idOf(i), To(FromInt(score)))
		}
	}
}

const wanderers = 6 // more than a leaf holds

func TestTree_ATreeThatBeginsDuringALookIsNotLost(t *testing.T) {
	for range proof.Size(300, 20_000) {
		r := open(newMem())
		var begins sync.WaitGroup
		begins.Go(func() { r.set(t, "a", 1) })
		for n := 0; n == 0 && !t.Failed(); {
			var err error
			if n, err = r.Count(ctx, r.s, Between{}); err != nil {
				t.Error(err)
			}
		}
		begins.Wait()
	}
}
