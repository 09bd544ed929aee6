package whole_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
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
			if err := found.add(at, wrong); err != nil {
				t.Error(err)
			}
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
