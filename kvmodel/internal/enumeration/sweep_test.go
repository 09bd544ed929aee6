package enumeration

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
	"time"

	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// In the sweep, two processes create and delete records and first write their ids down in lines,
// two remove the ids of the dead, and one walks. Requests fail and come late, processes die and
// sleep, and in some runs one key of the enumeration is lost. Every walk must return every record
// that was there all the time, or ErrLost, and ErrLost only after a loss.

type town struct {
	mu    sync.Mutex
	since map[string]int // when a record was made; none while it may not exist
	made  int
	lost  bool
	wrong []string
}

func (w *town) exists(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made++
	w.since[id] = w.made
}

func (w *town) ends(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.since, id)
}

func (w *town) now() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.since)
}

func (w *town) says(who string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if errors.Is(err, kv.ErrLost) && !w.lost {
		w.wrong = append(w.wrong, fmt.Sprintf("%s says %v, and nothing was lost", who, err))
	}
}

func small(s kv.Store) *Enumeration {
	soon := func(work func(context.Context) error) bool {
		_ = work(context.Background())
		return true
	}
	e := New("M", s, time.Now, soon)
	e.logs.Limits = memberlog.Limits{Split: 40, Merge: 16, Slack: 20, Look: 20, Grace: time.Hour}
	return e
}

const idsEach = 14 // by a writer

func lineKey(name string, n int) string { return fmt.Sprintf("line:%s:%d", name, n) }

func surely(s kv.Store, op kv.Op) bool {
	for range 5 {
		if _, err := kv.One(context.Background(), s, op); err == nil || errors.Is(err, kv.ErrNotFound) {
			return true
		}
	}
	return false
}

func (w *town) write(s kv.Store, name string, rng *rand.Rand) {
	e := small(s)
	var mine []string
	for i := range idsEach {
		id := fmt.Sprint(name, i, "......")[:6]
		if len(mine) > 0 && rng.IntN(3) > 0 {
			old := mine[rng.IntN(len(mine))]
			w.ends(old)
			surely(s, kv.OpDelete("rec:"+old))
			if rng.IntN(3) == 0 {
				id = old // It is created again.
			}
		}
		if !surely(s, kv.OpSet(lineKey(name, i), []byte(id))) {
			continue
		}
		mine = append(mine, id)
		if surely(s, kv.OpSet("rec:"+id, nil)) {
			w.exists(id)
		}
		w.archive(s, e, name, i, id)
		time.Sleep([]time.Duration{0, time.Second, 20 * time.Second, time.Hour}[rng.IntN(4)])
	}
}

func (w *town) archive(s kv.Store, e *Enumeration, name string, n int, id string) {
	err := e.Put(context.Background(), []string{id})
	if w.says(name, err); err == nil {
		surely(s, kv.OpDelete(lineKey(name, n)))
	}
}

func lines(s kv.Store) (ids []string, err error) {
	var keys []string
	for i := range idsEach {
		keys = append(keys, lineKey("p", i), lineKey("q", i))
	}
	results, err := kv.GetAll(context.Background(), s, keys...)
	for _, r := range results {
		if r.Err == nil {
			ids = append(ids, string(r.Value))
		}
	}
	return ids, err
}

func (w *town) walk(s kv.Store, e *Enumeration) {
	ctx := context.Background()
	before := w.now()
	open, err := lines(s)
	if err != nil {
		return
	}
	got := map[string]int{}
	head, err := e.look(ctx, s)
	if err != nil {
		return
	}
	err = e.Each(ctx, head, false, Reached{}, open, func(ids []string, _ Reached, _ int64) error {
		for _, id := range ids {
			got[id]++
		}
		return nil
	})
	w.says("reader", err)
	after := w.now()
	for id, n := range got {
		if n > 1 {
			w.wrong = append(w.wrong, fmt.Sprintf("a walk gives %s %d times", id, n))
		}
	}
	for id, since := range before {
		if err == nil && after[id] == since && got[id] == 0 {
			w.wrong = append(w.wrong, fmt.Sprintf("a walk ends with nil and without %s", id))
		}
	}
}

func (w *town) prune(s kv.Store, e *Enumeration) {
	err := e.Prune(context.Background(), func(ctx context.Context, ids []string) ([]bool, error) {
		keys := make([]string, len(ids))
		for i, id := range ids {
			keys[i] = "rec:" + id
		}
		results, err := kv.GetAll(ctx, s, keys...)
		alive := make([]bool, len(ids))
		for i, r := range results {
			alive[i] = r.Err == nil
		}
		return alive, err
	})
	w.says("pruner", err)
}

func (w *town) lose(sim *kvtest.Sim) {
	after := sim.Rand().IntN(150)
	for range 400 {
		sim.Steps(1)
		if after--; after > 0 {
			continue
		}
		keys := slices.DeleteFunc(slices.Sorted(slices.Values(sim.Store().Keys())), func(key string) bool {
			return !strings.HasPrefix(key, "ids:")
		})
		w.mu.Lock()
		w.lost = true
		w.mu.Unlock()
		sim.Evict(keys[sim.Rand().IntN(len(keys))])
		return
	}
}

func sweep(t *testing.T, n int, powers kvtest.Powers) {
	world := kvtest.Hostile(powers)
	world.MaxCrashes = 2
	world.Fault = func(m kvtest.Moment) kvtest.Fault {
		if strings.HasPrefix(m.Op.Key, "ids:") {
			return kvtest.ByRate
		}
		return kvtest.None // Late writes of records and lines are not under test.
	}
	proof.Sweep(t, n, world, func(sim *kvtest.Sim) {
		w := &town{since: map[string]int{}}
		ctx, s := context.Background(), sim.Store()
		proof.Must(t, small(s).Begin(ctx))
		for i, name := range []string{"p", "q"} {
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
			sim.Go(name, func(s kv.Store) { w.write(s, name, rng) })
		}
		for _, name := range []string{"y", "z"} {
			sim.Go(name, func(s kv.Store) {
				for _, wait := range []time.Duration{10 * time.Second, time.Hour, 2*time.Hour + time.Second, 3 * time.Hour} {
					time.Sleep(wait)
					w.prune(s, small(s))
				}
			})
		}
		sim.Go("reader", func(s kv.Store) {
			for i := range 12 {
				w.walk(s, small(s))
				time.Sleep(time.Duration(i) * 10 * time.Minute)
			}
		})
		if sim.Seed()%2 == 0 {
			w.lose(sim)
		}
		sim.Wait()
		w.settle(still{s, kv.Powers{Unless: powers == kvtest.ServerPowers}})
		for _, wrong := range w.wrong {
			sim.T().Error(wrong)
		}
	})
}

// settle runs after all others have ended. It repairs their lines and prunes the enumeration.
func (w *town) settle(s kv.Store) {
	e := small(s)
	for _, name := range []string{"p", "q"} {
		for i := range idsEach {
			if r, err := kv.One(context.Background(), s, kv.OpGet(lineKey(name, i))); err == nil {
				w.archive(s, e, name, i, string(r.Value))
			}
		}
	}
	w.walk(s, e)
	for range 4 {
		time.Sleep(3 * time.Hour)
		w.prune(s, e)
		w.walk(s, e)
	}
	if err := e.Accept(context.Background()); err != nil {
		w.wrong = append(w.wrong, fmt.Sprintf("accept: %v", err))
	}
	w.lost = false
	w.says("after Accept, a reader", w.first(s, e))
	w.says("after Accept, a writer", e.Put(context.Background(), []string{"after"}))
	w.says("after Accept and a write, a reader", w.first(s, e))
}

func (e *Enumeration) look(ctx context.Context, s kv.Store) (kv.Result, error) {
	got, err := kv.One(ctx, s, kv.OpGet(e.HeadKey()))
	if errors.Is(err, kv.ErrNotFound) {
		err = nil
	}
	return got, err
}

func (w *town) first(s kv.Store, e *Enumeration) error {
	head, err := e.look(context.Background(), s)
	if err != nil {
		return err
	}
	return e.Each(context.Background(), head, false, Reached{}, nil, func([]string, Reached, int64) error { return nil })
}

// still is a store with other powers: where some writers can refuse to append after a seal, all
// must.
type still struct {
	kv.Store
	powers kv.Powers
}

func (s still) Powers() kv.Powers { return s.powers }

func TestSweep_AWalkHasEveryRecordOrSaysThatSomeAreLost(t *testing.T) {
	sweep(t, 60, kvtest.NoPowers)
}

func TestSweep_AWalkHasEveryRecordOrSaysThatSomeAreLostOnAServer(t *testing.T) {
	sweep(t, 60, kvtest.ServerPowers)
}

// Acknowledged ids must be in a segment that the head names and no one overwrites.
func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_AWalkHasEveryRecordOrSaysThatSomeAreLost", "blind cas ids:", "lost append ids:")
	proof.Notices(t, "TestSweep_AWalkHasEveryRecordOrSaysThatSomeAreLostOnAServer", "blind append ids:")
}
