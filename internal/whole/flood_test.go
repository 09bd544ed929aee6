package whole_test

import (
	"context"
	"errors"
	"hash/fnv"
	"log/slog"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

var severalFailed = regexp.MustCompile(`^flush: \d{2,} things failed and will not be tried again by this process: [^\n]*$`)

func TestFlood_AServerThatIsGoneForAMinuteIsNotLoggedByTheOp(t *testing.T) {
	t.Parallel()
	all := map[string]error{"lost": kv.ErrLost, "unavailable": kv.ErrUnavailable, "unclear": kv.ErrUnclear}
	for kind := range proof.Part(t, []string{"unavailable"}, slices.Collect(maps.Keys(all))) {
		why := all[kind]
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := runFlood(t, 5, time.Minute, why)
				t.Logf("%d calls, %d lines, the longest of %d bytes, stats %+v", f.calls, len(f.lines), f.longest(), f.stats)
				t.Logf("Close: %v", f.closed)
				if f.calls < 2_000 {
					t.Errorf("only %d calls were made", f.calls)
				}
				if len(f.lines) > 100 || f.longest() > 1000 {
					t.Errorf("%d lines, the longest of %d bytes; want at most 100 of 1,000:\n%.10000s", len(f.lines), f.longest(), strings.Join(f.lines, ""))
				}
				if !slices.ContainsFunc(f.lines, func(line string) bool {
					return strings.Contains(line, " times=") && strings.Contains(line, " model=") && strings.Contains(line, " index=") && strings.Contains(line, "kind="+kind)
				}) {
					t.Errorf("no line counts what failed, by model and index:\n%.5000s", strings.Join(f.lines, ""))
				}
				if f.stats.Failures[kind] == 0 || f.stats.Lines > 0 && f.stats.Oldest < 10*time.Second {
					t.Errorf("stats %+v", f.stats)
				}
				if f.closed == nil || !errors.Is(f.closed, why) || !severalFailed.MatchString(f.closed.Error()) || len(f.closed.Error()) > 1000 {
					t.Errorf("Close: %v", f.closed)
				}
			})
		})
	}
}

type flood struct {
	lines  []string
	calls  int
	stats  kvmodel.Stats
	closed error // the error of Close, while the server was still gone
}

func (f *flood) longest() (most int) {
	for _, line := range f.lines {
		most = max(most, len(line))
	}
	return most
}

const floodPause = 50 * time.Millisecond

func runFlood(t *testing.T, writers int, lasts time.Duration, why error) *flood {
	t.Helper()
	s, said, d := &twoHalves{Store: memkv.New(memkv.Options{})}, new(proof.Log), new(whole.Diary)
	l, err := whole.Open(s, kvmodel.Log(slog.New(slog.NewTextHandler(said, nil))))
	must(t, err)
	writeFor(l, d, writers, time.Second)
	must(t, l.DB.Flush(ctx))
	s.why.Store(&why)
	before := d.Calls()
	writeFor(l, d, writers, lasts)
	f := &flood{calls: d.Calls() - before, stats: l.DB.Stats()}
	closing, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	f.closed = l.DB.Close(closing)
	f.lines = slices.Collect(strings.Lines(said.String()))
	return f
}

func writeFor(l *whole.Library, d *whole.Diary, writers int, lasts time.Duration) {
	var busy sync.WaitGroup
	for n := range writers {
		w := whole.NewWriter(l, n, rand.New(rand.NewPCG(1, uint64(n))), d)
		busy.Go(func() {
			for end := time.Now().Add(lasts); time.Now().Before(end); time.Sleep(floodPause) {
				w.Step(ctx)
			}
		})
	}
	busy.Wait()
}

type twoHalves struct {
	kv.Store
	why atomic.Pointer[error]
}

func (h *twoHalves) Powers() kv.Powers { return kv.Powers{} }

func (h *twoHalves) Do(ctx context.Context, ops []kv.Op) error {
	why := h.why.Load()
	if why == nil {
		return h.Store.Do(ctx, ops)
	}
	for i := range ops {
		if onSecond(ops[i].Key) {
			ops[i].Result = kv.Result{Err: *why}
			continue
		}
		_ = h.Store.Do(ctx, ops[i:i+1])
	}
	return kv.Unanswered(ops)
}

func onSecond(key string) bool {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(key))
	return hash.Sum32()&1 == 1
}
