package memberlog

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// Writers, readers and keepers, which fold, work on one list. Requests are late, lost or
// unanswered, and processes are killed. Every read must see all entries acknowledged before it
// began, and no removed member may come back.

// truth holds the values that a read may return.
type truth struct {
	mu     sync.Mutex
	rev    map[string]uint64          // last one used, by member
	said   map[string]map[uint64]bool // whether it is in, by member and rev; out wins
	floors map[string]Entry
	wrong  []string

	confirms bool // folds ask it, as if it were the records
}

func newTruth() *truth {
	return &truth{rev: map[string]uint64{}, said: map[string]map[uint64]bool{}, floors: map[string]Entry{}}
}

func (w *truth) next(id string, in bool) Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rev[id]++
	return w.say(Entry{ID: id, Rev: w.rev[id], In: in, At: whenOut(in)})
}

// withdraw returns an entry that takes e back at the same rev.
func (w *truth) withdraw(e Entry) Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	e.In, e.At = false, whenOut(false)
	return w.say(e)
}

func whenOut(in bool) int64 {
	if in {
		return 0
	}
	return time.Now().Unix()
}

func (w *truth) say(e Entry) Entry {
	if w.said[e.ID] == nil {
		w.said[e.ID] = map[uint64]bool{}
	}
	in, known := w.said[e.ID][e.Rev]
	w.said[e.ID][e.Rev] = e.In && (in || !known)
	return e
}

// acknowledged: from now on no read may return less than e.
func (w *truth) acknowledged(e Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.raise(e)
}

func (w *truth) raise(e Entry) {
	if outdoes(e, w.floors[e.ID]) {
		w.floors[e.ID] = e
	}
}

// outdoes reports whether e counts and f does not, independently of the code.
func outdoes(e, f Entry) bool { return e.Rev > f.Rev || e.Rev == f.Rev && !e.In && f.In }

func (w *truth) floor(id string) Entry {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.floors[id]
}

// read records the result of a read that began when floor was certain.
func (w *truth) read(who string, got, floor Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if floor.ID != "" && outdoes(floor, got) {
		w.wrong = append(w.wrong, fmt.Sprintf("%s read %+v, but before it began %+v was certain", who, got, floor))
	}
	if got.ID == "" {
		return
	}
	if _, known := w.said[got.ID][got.Rev]; !known {
		w.wrong = append(w.wrong, fmt.Sprintf("%s read %+v, which was never written", who, got))
	}
	w.raise(got)
}

const place = "topic"

// With tiny a few members take several segments.
var tiny = Limits{Split: 110, Merge: 60, Slack: 30, Look: 60, Grace: 24 * time.Hour}

// openLogs returns the logs of a process. wait waits for its upkeep.
func openLogs(s kv.Store, limits Limits) (l *Logs, wait func()) {
	var upkeep sync.WaitGroup
	l = &Logs{
		Key:   func(place string) string { return "l:" + place },
		Store: s,
		Now:   time.Now,
		Soon: func(work func(context.Context) error) bool {
			upkeep.Go(func() { _ = work(context.Background()) })
			return true
		},
		Limits: limits,
	}
	return l, upkeep.Wait
}

func (w *truth) open(s kv.Store, limits Limits) (*Logs, func()) {
	l, wait := openLogs(s, limits)
	if w.confirms {
		l.Confirm, l.Overdue = w.confirm, func(string, Entry) {}
	}
	return l, wait
}

// confirm answers as the records would.
func (w *truth) confirm(ctx context.Context, s kv.Store, place string, entries []Entry) ([]Entry, error) {
	// a dead process gets no answer
	if _, err := kv.One(ctx, s, kv.OpGet("records")); err != nil && !errors.Is(err, kv.ErrNotFound) {
		return nil, err
	}
	says := make([]Entry, len(entries))
	for i, e := range entries {
		switch record := w.floor(e.ID); {
		case record.Rev < e.Rev:
		case record.In:
			says[i] = e
		default:
			says[i] = record
		}
	}
	return says, nil
}

var sweepMembers = []string{"ann", "bob", "cem", "dora", "eve", "fox"}

func writeSome(s kv.Store, rng *rand.Rand, limits Limits, w *truth, n int) {
	l, wait := w.open(s, limits)
	defer wait()
	var speculative []Entry
	for range n {
		e := w.next(sweepMembers[rng.IntN(len(sweepMembers))], rng.IntN(3) > 0)
		if e.In && rng.IntN(3) == 0 {
			speculative = append(speculative, e)
		}
		if len(speculative) > 0 && rng.IntN(3) == 0 {
			e, speculative = w.withdraw(speculative[0]), speculative[1:]
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		if err := l.Write(ctx, s, place, e); err == nil {
			w.acknowledged(e)
		} else if !kv.Failed(err) && !errors.Is(err, kv.ErrConflict) {
			w.complain("write: %v", err)
		}
		cancel()
	}
}

func (w *truth) complain(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

func readSome(s kv.Store, rng *rand.Rand, limits Limits, w *truth, name string, n int) {
	l, wait := w.open(s, limits)
	defer wait()
	for range n {
		id := sweepMembers[rng.IntN(len(sweepMembers))]
		floor := w.floor(id)
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		got, err := entryOf(ctx, l, s, place, id)
		cancel()
		if err == nil {
			w.read(name, got, floor)
		} else if !kv.Failed(err) && !errors.Is(err, kv.ErrConflict) {
			w.complain("%s: %v", name, err)
		}
	}
}

// tendSome does only upkeep, needed or not.
func tendSome(s kv.Store, rng *rand.Rand, limits Limits, w *truth, n int) {
	l, wait := w.open(s, limits)
	defer wait()
	for range n {
		h, err := l.readHead(context.Background(), s, place)
		if err != nil {
			continue
		}
		// a process tends only a segment that it has read
		if _, err := kv.One(context.Background(), s, kv.OpGet(l.key(place, h.parts[0].name))); err != nil {
			continue
		}
		names := []name{h.parts[rng.IntN(len(h.parts))].name}
		if at := h.indexOf(names[0]); rng.IntN(3) == 0 && l.neighbor(h, at) >= 0 {
			first := min(at, l.neighbor(h, at))
			names = []name{h.parts[first].name, h.parts[first+1].name}
		}
		if rng.IntN(3) > 0 {
			err = l.roll(context.Background(), s, place, names...)
		} else {
			err = l.tend(context.Background(), place, names[0])
		}
		if err != nil && !kv.Failed(err) && !errors.Is(err, kv.ErrConflict) {
			w.complain("upkeep: %v", err)
		}
	}
}

// checkList asserts that the list has the acknowledged or later entries, and each member once.
func checkList(sim *kvtest.Sim, limits Limits, w *truth) {
	t := sim.T()
	for _, wrong := range w.wrong {
		t.Error(wrong)
	}
	l, _ := openLogs(quietStore{sim.Store()}, limits)
	l.Soon = func(func(context.Context) error) bool { return false }
	ctx := context.Background()
	for _, id := range sweepMembers {
		got, err := entryOf(ctx, l, l.Store, place, id)
		must(t, err)
		w.wrong = nil
		w.read("the last reader", got, w.floors[id])
		for _, wrong := range w.wrong {
			t.Error(wrong)
		}
	}
	var ids []string
	must(t, l.Each(ctx, l.Store, place, func(id string) error { ids = append(ids, id); return nil }))
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			t.Errorf("%s is twice in %v", id, ids)
		}
	}
	if n, err := l.Count(ctx, l.Store, place); err != nil || n != len(ids) {
		t.Errorf("Count is %d, %v for %v", n, err, ids)
	}
}

type quietStore struct{ kv.Store }

func (quietStore) Powers() kv.Powers { return kv.Powers{} }

var must = proof.Must

func sweep(t *testing.T, n int, powers kvtest.Powers, limits Limits) {
	world := kvtest.Hostile(powers)
	world.MaxCrashes = 3
	rolls := 0
	proof.Sweep(t, n, world, func(sim *kvtest.Sim) {
		w := newTruth()
		w.confirms = sim.Seed()%2 == 0
		for i, what := range []string{"writer", "writer", "writer", "reader", "keeper", "keeper"} {
			name := fmt.Sprint(what, i)
			rng := rand.New(rand.NewPCG(sim.Seed(), uint64(i)))
			sim.Go(name, func(s kv.Store) {
				switch what {
				case "writer":
					writeSome(s, rng, limits, w, 6)
				case "reader":
					readSome(s, rng, limits, w, name, 8)
				case "keeper":
					tendSome(s, rng, limits, w, 3)
				}
			})
		}
		sim.Wait()
		checkList(sim, limits, w)
		for _, line := range sim.Trace() {
			if strings.Contains(line, `cas "l:topic"`) || strings.Contains(line, `add "l:topic"`) {
				rolls++
			}
		}
	})
	t.Logf("%d changes of a head", rolls)
}

func TestSweep_NothingIsLostOrComesBackWhereAppendsRespectSeals(t *testing.T) {
	sweep(t, 340, kvtest.ServerPowers, tiny)
}

func TestSweep_NothingIsLostOrComesBackWhereWritersVerify(t *testing.T) {
	sweep(t, 300, kvtest.NoPowers, tiny)
}

func TestSweep_NothingIsLostOrComesBackWhereUpkeepIsOneTransaction(t *testing.T) {
	sweep(t, 300, kvtest.AllPowers, tiny)
}

func TestFaults_OfAStoreAreNoticed(t *testing.T) {
	proof.Notices(t, "TestSweep_NothingIsLostOrComesBackWhereAppendsRespectSeals", "blind add l:", "blind append l:", "blind cas l:")
	proof.Notices(t, "TestSweep_NothingIsLostOrComesBackWhereWritersVerify", "lost append l:")
}
