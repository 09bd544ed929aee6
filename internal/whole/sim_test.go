package whole_test

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// In a run, some processes change everything at the same time on a simulated store, where some die
// and some requests go astray. After the repair, every answer must be the one that the records
// imply.

const (
	runProcesses = 4
	runCalls     = 300 // by all processes
)

type limits struct {
	calls  int // by each process
	faults int
}

type outcome struct {
	wrong []string
	tale  string // printed if an answer is wrong
	tally map[string]int
}

var worlds = []struct {
	name   string
	powers kvtest.Powers
}{
	{"as memcached", kvtest.NoPowers},
	{"as Redis", kvtest.ServerPowers},
	{"embedded", kvtest.AllPowers},
}

type mishap struct {
	what  string
	at    int // the number of an op of all processes
	fault kvtest.Fault
	who   string
}

func mishaps(rng *rand.Rand, powers kvtest.Powers) []mishap {
	kinds := []mishap{
		{what: "late", fault: kvtest.Late}, {what: "lost", fault: kvtest.Lost},
		{what: "mute", fault: kvtest.Mute}, {what: "unsent", fault: kvtest.Unsent},
		{what: "evicted"},
	}
	most := 9000
	if powers.Atomic {
		most = 500
	}
	all := []mishap{{what: "killed", at: 1 + rng.IntN(most/2), who: fmt.Sprint("p", rng.IntN(runProcesses))}}
	for range 1 + rng.IntN(3) {
		m := kinds[rng.IntN(len(kinds))]
		m.at = 1 + rng.IntN(most/2)
		all = append(all, m)
	}
	return all
}

func mayGo(key string) bool {
	return strings.HasPrefix(key, "qh:") || strings.HasPrefix(key, "seq:") || strings.HasSuffix(key, ":edge")
}

// Every second run with transactions runs them twice.
func run(t *testing.T, seed uint64, lim limits) (out outcome) {
	powers := worlds[seed%uint64(len(worlds))].powers
	powers.Again = powers.Atomic && seed%2 == 0
	script := mishaps(rand.New(rand.NewPCG(seed, 99)), powers)
	script = script[:min(len(script), lim.faults)]
	out.tally = map[string]int{}
	count, dead := 0, false
	world := kvtest.World{Powers: powers, Slow: 0.001, MaxSteps: 1_000_000}
	var sim *kvtest.Sim
	world.Fault = func(m kvtest.Moment) kvtest.Fault {
		if !strings.HasPrefix(m.Client, "p") {
			return kvtest.None
		}
		count++
		for _, mishap := range script {
			if count != mishap.at {
				continue
			}
			switch {
			case mishap.who != "":
				sim.CrashAt(mishap.who, sim.Step()+1)
				dead = true
			case mishap.fault != kvtest.ByRate:
				out.tally[mishap.what]++
				return mishap.fault
			default:
				keys := slices.DeleteFunc(slices.Sorted(slices.Values(sim.Store().Keys())), func(key string) bool { return !mayGo(key) })
				if len(keys) > 0 {
					sim.Evict(keys[count%len(keys)])
					out.tally[mishap.what]++
				}
			}
		}
		return kvtest.None
	}
	kvtest.Simulate(t, seed, world, func(s *kvtest.Sim) {
		sim = s
		d, wrong := judged(t, sim, powers, func(n int, d *whole.Diary) worker {
			return worker{n: n, rng: rand.New(rand.NewPCG(seed, uint64(n))), diary: d, calls: lim.calls}
		}, func() bool { return dead })
		if dead {
			out.tally["killed"]++
		}
		out.wrong = wrong
		out.tally["calls"] += d.Calls()
		out.tally["ops"] += sim.Step()
		out.tally["runs "+worlds[seed%uint64(len(worlds))].name]++
		if len(wrong) > 0 {
			out.tale = storyOf(d, wrong)
		}
	})
	return out
}

// judged lets processes work, repairs what they left, and returns the answer of Judge. It calls
// anyDead when all have ended.
func judged(t *testing.T, sim *kvtest.Sim, powers kvtest.Powers, process func(n int, d *whole.Diary) worker, anyDead func() bool) (*whole.Diary, []string) {
	d, open := new(whole.Diary), false
	for n := range runProcesses {
		k := process(n, d)
		sim.Go(fmt.Sprint("p", n), func(store kv.Store) { open = !k.work(store) || open })
	}
	sim.Wait()
	touch := anyDead() || open
	sim.Do("fixer", func(store kv.Store) { repair(store, d, touch) })
	sim.Wait()
	l, err := whole.Open(asIn(sim.Store(), powers))
	must(t, err)
	wrong, err := l.Judge(ctx, d)
	must(t, err)
	wrong = append(wrong, l.JudgeKeys(ctx, sim.Store().Keys())...)
	must(t, l.DB.Close(ctx))
	return d, wrong
}

func asIn(s kv.Store, powers kvtest.Powers) kv.Store {
	all := kv.PowersOf(s)
	own := kv.Powers{Unless: powers.Unless, Ordered: powers.Ordered}
	if powers.Atomic {
		own = all
	}
	return still{s, own}
}

type worker struct {
	n, calls int
	rng      *rand.Rand
	diary    *whole.Diary

	pause  time.Duration
	clock  *kvtest.Clock // nil: a right one
	within func(context.Context) (context.Context, context.CancelFunc)
}

func (k worker) work(store kv.Store) bool {
	clock := cmp.Or(k.clock, new(kvtest.Clock))
	l, err := whole.Open(store, kvmodel.Clock(clock.Now))
	if err != nil {
		panic(err)
	}
	w := whole.NewWriter(l, k.n, k.rng, k.diary)
	w.Within = k.within
	for range k.calls {
		w.Step(ctx)
		if k.rng.IntN(8) == 0 {
			time.Sleep(time.Duration(k.rng.IntN(int(cmp.Or(k.pause, 2*time.Second)/time.Millisecond))) * time.Millisecond)
		}
	}
	closing, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	_ = l.DB.Flush(closing)
	return l.DB.Close(closing) == nil
}

// repair starts after all others, and stays until everything is repaired. With keys on several
// servers, a dead process may have left an entry without a line: Size and Count are too high until
// two pages, a minute apart, have found it (docs/lists.md). A board over a counter may lack a dead
// process's last counts until the counter changes, which touch does.
func repair(store kv.Store, d *whole.Diary, touch bool) {
	l, err := whole.Open(store)
	if err != nil {
		panic(err)
	}
	for _, wait := range []time.Duration{0, time.Minute, time.Minute, 2 * time.Hour, time.Minute} {
		time.Sleep(wait)
		for range 5 {
			if l.DB.Repair(ctx) == nil {
				break
			}
		}
	}
	if touch {
		l.Touch(ctx, d)
	}
	_ = l.DB.Flush(ctx)
	time.Sleep(2 * time.Minute)
	for range 2 {
		if !kv.PowersOf(store).Ordered {
			l.Browse(ctx)
			_ = l.DB.Flush(ctx)
			time.Sleep(2 * time.Minute)
		}
	}
	_ = l.DB.Close(ctx)
}

func storyOf(d *whole.Diary, wrong []string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", strings.Join(wrong[:min(len(wrong), 20)], "\n"))
	lines := d.Story(wrong[0])
	fmt.Fprintf(&text, "calls about the first:\n%s\n", strings.Join(lines[max(0, len(lines)-40):], "\n"))
	return text.String()
}

func smallest(t *testing.T, seed uint64, found outcome, lim limits) (outcome, limits) {
	for _, smaller := range []func(limits) limits{
		func(l limits) limits { l.faults = 0; return l },
		func(l limits) limits { l.faults = 1; return l },
		func(l limits) limits { l.calls /= 2; return l },
		func(l limits) limits { l.calls /= 2; return l },
		func(l limits) limits { l.calls = l.calls * 3 / 4; return l },
		func(l limits) limits { l.calls = l.calls * 3 / 4; return l },
		func(l limits) limits { l.calls -= l.calls / 8; return l },
	} {
		if next := smaller(lim); next != lim && next.calls > 0 {
			if out := run(t, seed, next); len(out.wrong) > 0 {
				found, lim = out, next
			}
		}
	}
	return found, lim
}

func class(line string) string {
	question, _, _ := strings.Cut(line, ":")
	words := strings.Fields(question)
	return strings.Join(words[:min(len(words), 2)], " ")
}

func runSeeds(t *testing.T) iter.Seq[uint64] {
	first, alone := setting(t, "RINGTREE_SEED", 1)
	n, several := setting(t, "RINGTREE_SEEDS", 1)
	if !alone && !several {
		return proof.Rounds(t, 3, 20_000)
	}
	return func(yield func(uint64) bool) {
		for seed := first; seed < first+n && yield(seed); seed++ {
		}
	}
}

// It continues after a failed run, and prints the number of failures of each kind.
func TestLong_EverythingIsAsTheRecordsSay(t *testing.T) {
	full := limits{calls: runCalls / runProcesses, faults: 9}
	tally, classes := map[string]int{}, map[string]int{}
	n := 0
	for seed := range runSeeds(t) {
		n++
		out := run(t, seed, full)
		for what, times := range out.tally {
			tally[what] += times
		}
		if len(out.wrong) == 0 {
			continue
		}
		tally["failed"]++
		for _, line := range out.wrong {
			classes[class(line)]++
		}
		if tally["failed"] <= 3 {
			small, lim := smallest(t, seed, out, full)
			t.Errorf("seed %d (RINGTREE_SEED=%d runs it alone): with %d calls a process and %d mishaps\n%s", seed, seed, lim.calls, lim.faults, small.tale)
		} else {
			t.Errorf("seed %d: %s", seed, out.wrong[0])
		}
	}
	t.Logf("%d runs: %s", n, list(tally))
	if len(classes) > 0 {
		t.Logf("differences: %s", list(classes))
	}
}

func list(counts map[string]int) string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s %d", what, counts[what]))
	}
	return strings.Join(all, ", ")
}

func setting(t *testing.T, name string, otherwise uint64) (uint64, bool) {
	text, set := os.LookupEnv(name)
	if !set {
		return otherwise, false
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		t.Fatalf("%s=%s: %v", name, text, err)
	}
	return n, true
}
