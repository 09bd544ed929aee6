package whole_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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

// Four processes change everything on a simulated store, and one kind of fault strikes again and
// again. After the repair, every index, count, rank and Len must be the function of the records, or
// report a loss.

type fault struct {
	name   string
	times  int
	pause  time.Duration
	strike func(*trial, kvtest.Moment) kvtest.Fault
}

const (
	clockError = 10 * time.Minute
	downtime   = 5 * time.Second
)

func each(f kvtest.Fault) func(*trial, kvtest.Moment) kvtest.Fault {
	return func(*trial, kvtest.Moment) kvtest.Fault { return f }
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
		r.until, r.outage = time.Now().Add(downtime), kvtest.Unsent
		return kvtest.Unsent
	}},
	{"full for 5 s", 2, 0, func(r *trial, m kvtest.Moment) kvtest.Fault {
		r.until, r.outage = time.Now().Add(downtime), kvtest.Full
		return r.full(m)
	}},
	{"asleep for minutes", 4, 20 * time.Second, func(r *trial, m kvtest.Moment) kvtest.Fault {
		r.sim.Sleep(m.Client, time.Minute+time.Duration(r.rng.IntN(240))*time.Second)
		return kvtest.None
	}},
}

type trial struct {
	fault
	sim *kvtest.Sim
	rng *rand.Rand

	count   int
	at      map[int]bool
	struck  int
	dead    bool
	until   time.Time
	outage  kvtest.Fault
	victims map[string]*victim
	plain   bool // like memcached
}

type victim struct {
	clock  kvtest.Clock
	wrong  bool
	cancel atomic.Pointer[context.CancelFunc]
}

// memcached needs room also to delete by compare.
func (r *trial) full(m kvtest.Moment) kvtest.Fault {
	if r.plain && m.Op.Kind == kv.CompareAndDelete {
		return kvtest.Unsent
	}
	return kvtest.Full
}

func (r *trial) decide(m kvtest.Moment) kvtest.Fault {
	if !strings.HasPrefix(m.Client, "p") {
		return kvtest.None
	}
	if r.count++; r.at[r.count] {
		r.struck++
		return r.strike(r, m)
	}
	if !time.Now().Before(r.until) {
		return kvtest.None
	}
	r.struck++
	if r.outage == kvtest.Full {
		return r.full(m)
	}
	return r.outage
}

type trialAt struct {
	world, fault int
	seed         uint64
}

func (at trialAt) String() string {
	return fmt.Sprintf("%s, %s, seed %d", worlds[at.world].name, faults[at.fault].name, at.seed)
}

// usualOps are about the ops of a trial, without the repair.
var usualOps = []int{9000, 6000, 450}

func (at trialAt) try(t *testing.T) (struck int, wrong []string, tale string) {
	powers := worlds[at.world].powers
	r := &trial{
		fault: faults[at.fault], rng: rand.New(rand.NewPCG(at.seed, 5)), plain: powers == kvtest.NoPowers,
		at: map[int]bool{}, victims: map[string]*victim{},
	}
	for range r.times {
		r.at[1+r.rng.IntN(usualOps[at.world]*2/3)] = true
	}
	seed := at.seed*100 + uint64(at.fault)
	kvtest.Simulate(t, seed, kvtest.World{Powers: powers, Slow: 0.001, MaxSteps: 2_000_000, Fault: r.decide}, func(sim *kvtest.Sim) {
		r.sim = sim
		var d *whole.Diary
		d, wrong = judged(t, sim, powers, func(n int, d *whole.Diary) worker {
			v := new(victim)
			r.victims[fmt.Sprint("p", n)] = v
			return worker{
				n: n, calls: runCalls / runProcesses, rng: rand.New(rand.NewPCG(seed, uint64(n))), diary: d,
				pause: r.pause, clock: &v.clock, within: r.within(v, at.seed%2 == 0),
			}
		}, func() bool { r.until = time.Time{}; return r.dead })
		if len(wrong) > 0 {
			tale = storyOf(d, wrong)
		}
	})
	return r.struck, wrong, tale
}

// Calls of a sleeping process may lack a deadline, so that they go on when it wakes.
func (r *trial) within(v *victim, limited bool) func(context.Context) (context.Context, context.CancelFunc) {
	return func(ctx context.Context) (context.Context, context.CancelFunc) {
		cancel := func() {}
		if limited || !strings.HasPrefix(r.name, "asleep") {
			ctx, cancel = context.WithTimeout(ctx, 10*time.Second)
		}
		ctx, end := context.WithCancel(ctx)
		v.cancel.Store(&end)
		return ctx, func() { end(); cancel() }
	}
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
			n, wrong, tale := at.try(t)
			struck[faults[at.fault].name] += n
			trials++
			if err := found.add(at, wrong); err != nil {
				t.Error(err)
			}
			if tale != "" && found.unlimited(at, wrong) {
				t.Error(tale)
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
