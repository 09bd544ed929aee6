package whole_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

const (
	runProcesses = 4
	runCalls     = 300 // by all processes
)

// A trial has four processes change everything at the same time on a simulated store, where faults
// strike some ops. After the repair, every answer must be the one that the records imply, or report
// a loss.
type trial struct {
	world     int
	powers    kvtest.Powers
	rng       *rand.Rand
	calls     int           // by each process
	pause     time.Duration // after every eighth call, at most
	unlimited bool          // calls of a sleeping process go on when it wakes
	at        map[int]fault // by the number of an op of all processes

	sim     *kvtest.Sim
	diary   *whole.Diary
	count   int
	struck  map[string]int // ops by the name of the fault
	last    string
	dead    bool
	until   time.Time
	outage  func(*trial, kvtest.Moment) kvtest.Fault
	victims map[string]*victim
}

type fault struct {
	name   string
	times  int
	pause  time.Duration
	strike func(*trial, kvtest.Moment) kvtest.Fault
}

type victim struct {
	clock  kvtest.Clock
	wrong  bool
	cancel atomic.Pointer[context.CancelFunc]
}

func newTrial(world int, rng *rand.Rand) *trial {
	return &trial{
		world: world, powers: worlds[world].powers, rng: rng, calls: runCalls / runProcesses, pause: 2 * time.Second,
		at: map[int]fault{}, diary: new(whole.Diary), struck: map[string]int{}, victims: map[string]*victim{},
	}
}

// usualOps are about the ops of a trial, without the repair.
var usualOps = []int{9000, 6000, 450}

func (r *trial) add(f fault) { r.at[1+r.rng.IntN(usualOps[r.world]*2/3)] = f }

func (r *trial) decide(m kvtest.Moment) kvtest.Fault {
	if !strings.HasPrefix(m.Client, "p") {
		return kvtest.None
	}
	r.count++
	f, struck := r.at[r.count]
	switch {
	case struck:
		r.struck[f.name]++
		r.last = f.name
		return f.strike(r, m)
	case time.Now().Before(r.until):
		r.struck[r.last]++
		return r.outage(r, m)
	}
	return kvtest.None
}

// run returns the answer of Judge.
func (r *trial) run(t *testing.T, seed uint64) (wrong []string) {
	world := kvtest.World{Powers: r.powers, Slow: 0.001, MaxSteps: 2_000_000, Fault: r.decide}
	kvtest.Simulate(t, seed, world, func(sim *kvtest.Sim) {
		r.sim = sim
		open := false
		for n := range runProcesses {
			v := new(victim)
			r.victims[fmt.Sprint("p", n)] = v
			sim.Go(fmt.Sprint("p", n), func(store kv.Store) {
				open = !r.work(store, v, n, rand.New(rand.NewPCG(seed, uint64(n)))) || open
			})
		}
		sim.Wait()
		r.until = time.Time{}
		touch := r.dead || open
		sim.Do("fixer", func(store kv.Store) { repair(store, r.diary, touch) })
		sim.Wait()
		l, err := whole.Open(asIn(sim.Store(), r.powers))
		must(t, err)
		wrong, err = l.Judge(ctx, r.diary)
		must(t, err)
		wrong = append(wrong, l.JudgeKeys(ctx, sim.Store().Keys())...)
		must(t, l.DB.Close(ctx))
	})
	return wrong
}

// work reports whether the process has ended well.
func (r *trial) work(store kv.Store, v *victim, n int, rng *rand.Rand) bool {
	l, err := whole.Open(store, kvmodel.Clock(v.clock.Now))
	if err != nil {
		panic(err)
	}
	w := whole.NewWriter(l, n, rng, r.diary)
	w.Within = func(ctx context.Context) (context.Context, context.CancelFunc) {
		cancel := func() {}
		if !r.unlimited {
			ctx, cancel = context.WithTimeout(ctx, 10*time.Second)
		}
		ctx, end := context.WithCancel(ctx)
		v.cancel.Store(&end)
		return ctx, func() { end(); cancel() }
	}
	for range r.calls {
		w.Step(ctx)
		if rng.IntN(8) == 0 {
			time.Sleep(time.Duration(rng.IntN(int(r.pause/time.Millisecond))) * time.Millisecond)
		}
	}
	closing, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	_ = l.DB.Flush(closing)
	return l.DB.Close(closing) == nil
}

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

var evicted = fault{name: "evicted", strike: func(r *trial, _ kvtest.Moment) kvtest.Fault {
	if keys := slices.DeleteFunc(slices.Sorted(slices.Values(r.sim.Store().Keys())), func(key string) bool { return !mayGo(key) }); len(keys) > 0 {
		r.sim.Evict(keys[r.count%len(keys)])
	}
	return kvtest.None
}}

// run has one process killed, and one to three other faults of faults and evicted. Every second run
// with transactions runs them twice.
func run(t *testing.T, seed uint64, lim limits) (out outcome) {
	r := newTrial(int(seed%uint64(len(worlds))), rand.New(rand.NewPCG(seed, 99)))
	r.powers.Again = r.powers.Atomic && seed%2 == 0
	r.calls = lim.calls
	script := []fault{faults[0]}
	for range 1 + r.rng.IntN(3) {
		script = append(script, append([]fault{evicted}, faults[1:5]...)[r.rng.IntN(5)])
	}
	for _, f := range script[:min(len(script), lim.faults)] {
		r.add(f)
	}
	out.wrong = r.run(t, seed)
	out.tally = maps.Clone(r.struck)
	out.tally["calls"] = r.diary.Calls()
	out.tally["ops"] = r.sim.Step()
	out.tally["runs "+worlds[r.world].name] = 1
	if len(out.wrong) > 0 {
		out.tale = storyOf(r.diary, out.wrong)
	}
	return out
}

func mayGo(key string) bool {
	return strings.HasPrefix(key, "qh:") || strings.HasPrefix(key, "seq:") || strings.HasSuffix(key, ":edge")
}

func asIn(s kv.Store, powers kvtest.Powers) kv.Store {
	all := kv.PowersOf(s)
	own := kv.Powers{Unless: powers.Unless, Ordered: powers.Ordered}
	if powers.Atomic {
		own = all
	}
	return still{s, own}
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
