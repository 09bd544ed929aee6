package whole_test

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/ringtree/ringtree/kvmodel/kvtest"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// Four processes change everything on a simulated store, and one kind of fault strikes again and
// again. After the repair, every index, count, rank and Len must be the function of the records, or
// report a loss.

const (
	clockError = 10 * time.Minute
	downtime   = 5 * time.Second
)

func each(f kvtest.Fault) func(*trial, kvtest.Moment) kvtest.Fault {
	return func(*trial, kvtest.Moment) kvtest.Fault { return f }
}

// memcached needs room also to delete by compare.
func full(r *trial, m kvtest.Moment) kvtest.Fault {
	if r.powers == kvtest.NoPowers && m.Op.Kind == kv.CompareAndDelete {
		return kvtest.Unsent
	}
	return kvtest.Full
}

func wrongClock(ahead time.Duration) func(*trial, kvtest.Moment) kvtest.Fault {
	return func(r *trial, m kvtest.Moment) kvtest.Fault {
		v := r.victims[m.Client]
		if v.wrong = !v.wrong; v.wrong {
			v.clock.Set(ahead)
		} else {
			v.clock.Set(0)
		}
		return kvtest.None
	}
}

var faults = []fault{
	{"killed", 2, 0, func(r *trial, m kvtest.Moment) kvtest.Fault {
		r.sim.CrashAt(m.Client, r.sim.Step()+1)
		r.dead = true
		return kvtest.None
	}},
	{"late", 30, 0, each(kvtest.Late)},
	{"unclear, done", 30, 0, each(kvtest.Mute)},
	{"unclear, not done", 30, 0, each(kvtest.Lost)},
	{"refused", 30, 0, each(kvtest.Unsent)},
	{"canceled", 30, 0, func(r *trial, m kvtest.Moment) kvtest.Fault {
		if cancel := r.victims[m.Client].cancel.Load(); cancel != nil {
			(*cancel)()
		}
		return kvtest.None
	}},
	{"clock +10 min and back", 12, 10 * time.Second, wrongClock(clockError)},
	{"clock -10 min and back", 12, 10 * time.Second, wrongClock(-clockError)},
	{"refuses all for 5 s", 2, 0, func(r *trial, _ kvtest.Moment) kvtest.Fault {
		r.until, r.outage = time.Now().Add(downtime), each(kvtest.Unsent)
		return kvtest.Unsent
	}},
	{"full for 5 s", 2, 0, func(r *trial, m kvtest.Moment) kvtest.Fault {
		r.until, r.outage = time.Now().Add(downtime), full
		return full(r, m)
	}},
	{"asleep for minutes", 4, 20 * time.Second, func(r *trial, m kvtest.Moment) kvtest.Fault {
		r.sim.Sleep(m.Client, time.Minute+time.Duration(r.rng.IntN(240))*time.Second)
		return kvtest.None
	}},
}

type trialAt struct {
	world, fault int
	seed         uint64
}

func (at trialAt) String() string {
	return fmt.Sprintf("%s, %s, seed %d", worlds[at.world].name, faults[at.fault].name, at.seed)
}

func (at trialAt) try(t *testing.T) (r *trial, wrong []string) {
	fault := faults[at.fault]
	r = newTrial(at.world, rand.New(rand.NewPCG(at.seed, 5)))
	for range fault.times {
		r.add(fault)
	}
	if fault.pause > 0 {
		r.pause = fault.pause
	}
	r.unlimited = strings.HasPrefix(fault.name, "asleep") && at.seed%2 == 1
	return r, r.run(t, at.seed*100+uint64(at.fault))
}

func saysLoss(line string) bool {
	for _, err := range []error{kvmodel.ErrNeedsRebuild, kv.ErrLost, kvmodel.ErrCorrupt} {
		if strings.Contains(line, err.Error()) {
			return true
		}
	}
	return strings.Contains(line, fmt.Sprintf("got %q", whole.NeedsRebuild))
}

// faultLimits are the cells that may show less, with the reasons.
var faultLimits = map[[2]string]string{
	{"board of a period", "clock -10 min and back"}: "a record that is made again by a process whose clock shows the day before is missing from today's board until its counter changes",
}

// followsCounts are the boards that miss a dead process's last counts until the counter changes:
// see repair.
var followsCounts = []string{"board over a counter", "board over a derived count", "board over a method", "board of a period"}

const faultSeeds = 40

func TestMatrix_OfFaults_EverythingIsAsTheRecordsSayOrSaysSo(t *testing.T) {
	var few, all []trialAt
	for f := range faults {
		few = append(few, trialAt{f % len(worlds), f, 1})
		for w := range worlds {
			for seed := range uint64(faultSeeds) {
				all = append(all, trialAt{w, f, seed + 1})
			}
		}
	}
	found, trials := faultMatrix{}, 0
	struck := map[string]int{}
	for at := range proof.Part(t, few, all) {
		t.Run(at.String(), func(t *testing.T) {
			r, wrong := at.try(t)
			for name, n := range r.struck {
				struck[name] += n
			}
			trials++
			proof.Is(t, found.add(at, wrong), nil)
			if len(wrong) > 0 && found.unlimited(at, wrong) {
				t.Error(storyOf(r.diary, wrong))
			}
		})
	}
	strikes := fmt.Sprintf("%d trials of four processes, with so many ops struck: %s", trials, list(struck))
	t.Log(strikes)
	publish(t, "faults", found.sheet(), "\n"+strikes+".\n")
}

type faultMatrix map[trialAt]map[string]*verdict

func (m faultMatrix) add(at trialAt, lines []string) error {
	at.seed = 0
	if m[at] == nil {
		m[at] = map[string]*verdict{}
		for _, class := range indexClasses {
			_, limited := faultLimits[[2]string{class.name, faults[at.fault].name}]
			m[at][class.name] = &verdict{limited: limited}
		}
	}
	for _, v := range m[at] {
		v.asked++
	}
	for _, line := range lines {
		class, ok := indexClass(line)
		switch {
		case !ok:
			return errors.New("no class has " + line)
		case saysLoss(line):
			m[at][class].says++
		default:
			m[at][class].wrong = append(m[at][class].wrong, line)
		}
	}
	return nil
}

func (m faultMatrix) unlimited(at trialAt, lines []string) bool {
	at.seed = 0
	return slices.ContainsFunc(lines, func(line string) bool {
		class, _ := indexClass(line)
		return !m[at][class].limited && !saysLoss(line)
	})
}

func (m faultMatrix) sheet() *sheet {
	s := &sheet{corner: "class"}
	for _, class := range indexClasses {
		for f, fault := range faults {
			for w := range worlds {
				v := m[trialAt{world: w, fault: f}][class.name]
				if v == nil {
					continue
				}
				word := v.word()
				if fault.name == "killed" && slices.Contains(followsCounts, class.name) {
					word += ", once counted again"
				}
				s.put(class.name, fault.name, word)
			}
		}
	}
	return s
}

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
