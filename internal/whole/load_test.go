package whole_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/proof/servers"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvopen"
	"github.com/ringtree/ringtree/kvmodel/kvopen/all"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func recordsOf[T any](n int, v func(i int) *T) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for i := 0; i < n && yield(v(i), nil); i++ {
		}
	}
}

// A loading stores works and then the likes of them.
type loading struct{ works, likes int }

var smallLoad = loading{40, 130}

func (o loading) into(l *whole.Library) error {
	return o.noticed(l, func() {})
}

// noticed calls next before each record.
func (o loading) noticed(l *whole.Library, next func()) error {
	_, err := l.Works.Load(ctx, recordsOf(o.works, func(i int) *whole.Work {
		next()
		return &whole.Work{
			ID: fmt.Sprint("w", i), Slug: fmt.Sprint("slug", i), Author: fmt.Sprint("author", i%7), Tags: []string{"all", fmt.Sprint("tag", i%5)},
			Room: "hall", Shelf: i % 3, Title: fmt.Sprint("title", i), Note: "note", Price: int64(i % 11), Taken: time.Unix(int64(i), 0),
		}
	}), kvmodel.LoadOptions{})
	if err == nil {
		_, err = l.Likes.Load(ctx, recordsOf(o.likes, func(i int) *whole.Like {
			next()
			return &whole.Like{User: fmt.Sprint("u", i/o.works), Work: fmt.Sprint("w", i%o.works)}
		}), kvmodel.LoadOptions{})
	}
	return err
}

// One process is killed while it loads, and another loads the same records again.
func TestSweep_ALoadGoesOnAfterAKillAndStoresNothingTwice(t *testing.T) {
	for _, w := range worlds {
		steps := 3600 // of the load
		if w.powers.Atomic {
			steps = 600
		}
		t.Run(w.name, func(t *testing.T) {
			proof.Sweep(t, 50, kvtest.World{Powers: w.powers, MaxSteps: 1_000_000}, func(sim *kvtest.Sim) {
				sim.CrashAt("killed", 1+sim.Rand().IntN(steps))
				sim.Go("killed", func(s kv.Store) {
					l := opened(s)
					_ = smallLoad.into(l)
					_ = l.DB.Close(ctx)
				})
				sim.Wait()
				sim.Do("next", func(s kv.Store) {
					l := opened(s)
					err := smallLoad.into(l)
					time.Sleep(3 * time.Hour) // until it has repaired
					must(sim.T(), err, l.DB.Flush(ctx), l.DB.Close(ctx))
				})
				l := opened(sim.Still())
				wantNone(sim.T(), smallLoad.missing(sim.T(), l))
				must(sim.T(), l.DB.Close(ctx))
			})
		})
	}
}

// missing returns the differences between l and a library with these records alone.
func (o loading) missing(t *testing.T, l *whole.Library) (wrong []string) {
	t.Helper()
	likes := 0
	for _, err := range l.Likes.All(ctx) {
		must(t, err)
		likes++
	}
	if likes != o.likes {
		wrong = append(wrong, fmt.Sprintf("%d likes, want %d", likes, o.likes))
	}
	var works []string
	for v, err := range l.Works.All(ctx) {
		must(t, err)
		works = append(works, v.ID)
		var i int
		_, _ = fmt.Sscanf(v.ID, "w%d", &i)
		if want := int64((o.likes - i + o.works - 1) / o.works); v.Likes != want || v.Version != 1 {
			wrong = append(wrong, fmt.Sprintf("%s has %d likes and version %d, want %d and 1", v.ID, v.Likes, v.Version, want))
		}
	}
	page, err := l.Works.Newest.Page(ctx, "", 2*o.works)
	must(t, err)
	newest := kv.Texts(page.Items, func(v *whole.Work) string { return v.ID })
	for what, ids := range map[string][]string{"the enumeration": works, "the timeline": newest} {
		if slices.Sort(ids); len(ids) != o.works || len(slices.Compact(ids)) != o.works {
			wrong = append(wrong, fmt.Sprintf("%s has %q, want %d works", what, ids, o.works))
		}
	}
	if r := checked(t, l); len(r.Counts) > 0 {
		wrong = append(wrong, faultTexts(r.Faults))
	}
	return wrong
}

// A weighed store weighs the memory in use, once that is wanted: at every 16th trip, and at the end of
// each transaction.
type weighed struct {
	kv.Store
	powers kv.Powers
	wanted atomic.Bool
	trips  atomic.Int64
	most   atomic.Int64
}

func newWeighed(s kv.Store, powers kv.Powers) *weighed {
	w := &weighed{Store: s, powers: powers}
	if atomically := powers.Atomic; atomically != nil {
		w.powers.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
			return atomically(ctx, func(s kv.Store) error {
				defer w.weigh()
				return f(s)
			})
		}
	}
	return w
}

func (w *weighed) Powers() kv.Powers { return w.powers }

func (w *weighed) Do(ctx context.Context, ops []kv.Op) error {
	if w.trips.Add(1)%16 == 0 {
		w.weigh()
	}
	return w.Store.Do(ctx, ops)
}

func (w *weighed) weigh() {
	if w.wanted.Load() {
		w.most.Store(max(w.most.Load(), inUse()))
	}
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestLoad_TakesNoMoreMemoryTheLongerItGoesOn compares the memory that loads need beyond the items
// of the store, in their last batches.
func TestLoad_TakesNoMoreMemoryTheLongerItGoesOn(t *testing.T) {
	const more = 24 << 20 // of caches that fill up to their bounds, and work that is in progress
	for _, k := range kinds[:2] {
		t.Run(k.name, func(t *testing.T) {
			needs := func(likes int) int64 {
				mem := memkv.New(memkv.Options{})
				w := newWeighed(mem, k.powers(mem))
				l, err := whole.Open(w)
				must(t, err)
				records, given := loading{300, likes}, 0
				must(t, records.noticed(l, func() { given++; w.wanted.Store(given == 300+likes) }))
				must(t, l.DB.Close(ctx))
				l, w.Store, w.powers = nil, nil, kv.Powers{}
				items := inUse()
				runtime.KeepAlive(mem)
				return w.most.Load() - items
			}
			needs(100) // fills what all loads share
			early, late := needs(1900), needs(5900)
			t.Logf("1,900 records need %d KB, 5,900 %d KB", early>>10, late>>10)
			if late > early+more {
				t.Error("memory goes on growing")
			}
		})
	}
}

func wantNone(t *testing.T, wrong []string) {
	t.Helper()
	for _, text := range wrong {
		t.Error(text)
	}
}

// loaderVariable holds, in a child that loads until it is killed, the URL of a store, a tenant, and
// a record and the microseconds after which the child kills itself.
const loaderVariable = "RINGTREE_WHOLE_LOADER"

var largeLoad = loading{180, 2700}

func loadUntilKilled(what string) error {
	var url, tenant string
	var at, pause int
	if _, err := fmt.Sscan(what, &url, &tenant, &at, &pause); err != nil {
		return err
	}
	s, err := kvopen.Store(ctx, url, all.Engines)
	if err != nil {
		return err
	}
	l, err := whole.Open(s, kvmodel.Tenant(tenant))
	if err != nil {
		return err
	}
	err = largeLoad.noticed(l, func() {
		if at--; at == 0 {
			go func() {
				time.Sleep(time.Duration(pause) * time.Microsecond)
				if self, err := os.FindProcess(os.Getpid()); err == nil {
					_ = self.Kill()
				}
			}()
		}
	})
	if err == nil {
		select {} // until it is killed
	}
	return err
}

const loaded = 5 // libraries in a store, each by children that are killed one after another

func TestLong_ALoadGoesOnAfterKills(t *testing.T) {
	for _, kind := range []string{"file", "redis-server", "memcached"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			kills := proof.Size(1, 10)
			switch {
			case kind == "file":
				dir := t.TempDir()
				eachLoaded(t, kills, func(tenant string) string { return "bolt:" + filepath.Join(dir, tenant) + "?durability=unsynced" })
			case proof.Long(): // A process counts as dead after half a minute.
				scheme, _, _ := strings.Cut(kind, "-")
				p := servers.Of(t, kind)
				options := ""
				if kind == "memcached" {
					options = "?volatile=on"
				}
				eachLoaded(t, kills, func(string) string { return scheme + "://" + p.Addr + options })
			}
		})
	}
}

func eachLoaded(t *testing.T, kills int, url func(tenant string) string) {
	for n := range loaded {
		tenant := fmt.Sprint("t", n)
		t.Run(tenant, func(t *testing.T) {
			t.Parallel()
			for k := range kills {
				killLoad(t, url(tenant), tenant, k, kills)
			}
			s, err := kvopen.Store(ctx, url(tenant), all.Engines)
			must(t, err)
			l, err := whole.Open(s, kvmodel.Tenant(tenant))
			must(t, err)
			must(t, largeLoad.into(l))
			wrong := []string{"not looked at"}
			for end := time.Now().Add(4 * time.Minute); len(wrong) > 0 && time.Now().Before(end); {
				if err := errors.Join(l.DB.Repair(ctx), l.DB.Flush(ctx)); !errors.Is(err, kvmodel.ErrNotYet) {
					must(t, err)
				}
				if wrong = largeLoad.missing(t, l); len(wrong) > 0 {
					time.Sleep(3 * time.Second)
				}
			}
			wantNone(t, wrong)
			must(t, l.DB.Close(ctx))
		})
	}
}

// killLoad is the kth of n kills. Each load passes over the records that the earlier ones stored.
func killLoad(t *testing.T, url, tenant string, k, n int) {
	t.Helper()
	records := largeLoad.works + largeLoad.likes
	at := 1 + (k*records+rand.IntN(records))/n
	root := rand.IntN(700) // mostly short pauses
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %d", loaderVariable, url, tenant, at, root*root))
	said, err := child.CombinedOutput()
	if child.ProcessState == nil || child.ProcessState.Exited() {
		t.Errorf("kill %d, at record %d: the child ended by itself: %v: %.500s", k, at, err, said)
	}
}
