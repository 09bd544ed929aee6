package proof

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/kvtest"
)

// Bounds limit the runs of Explore.
type Bounds struct {
	Powers  kvtest.Powers // Atomic is ignored
	Crashes int           // clients that may crash, anywhere
	Unclear int           // writes that may be unclear: carried out at any later time, or never
	States  int           // more states fail the test
}

// Exploration is one run of the clients, in one of all possible orders.
type Exploration struct {
	bounds  Bounds
	store   items
	shared  kv.Store
	clients []*explorer
	checks  []func(kv.Store) error
	views   []func() string
	trace   []string

	crashes, unclear int
	flying           []kv.Op // unclear, and not carried out yet
}

// Explore checks every state that the clients started by world can reach within bounds, in every
// order of their operations, with every crash and unclear answer. A [kvtest.Sim] makes some runs of
// a large world; Explore makes all runs of a very small one, with production code. Each operation
// is a separate step, even in a trip with others. Explore returns the number of states. To prove a
// part, it takes random orders until the time is up.
//
// It calls world for every run. The behavior of world and the clients must depend only on the
// store's answers: no randomness.
func Explore(t *testing.T, bounds Bounds, world func(*Exploration)) (states int) {
	t.Helper()
	states, err := explore(t, bounds, world)
	if err != nil {
		t.Error(err)
	}
	return states
}

func explore(t *testing.T, bounds Bounds, world func(*Exploration)) (states int, err error) {
	seen := map[[16]byte]bool{}
	limit, part := budget(t)
	chosen, fault := chance(t), broken()
	var late atomic.Bool
	if part {
		defer time.AfterFunc(limit, func() { late.Store(true) }).Stop()
	}
	// In a bubble, waiting takes no time.
	synctest.Test(t, func(*testing.T) {
		for open := [][]choice{nil}; len(open) > 0 && err == nil && !late.Load(); {
			last := len(open) - 1
			if part {
				i := chosen.IntN(len(open))
				open[i], open[last] = open[last], open[i]
			}
			path := open[last]
			open = open[:last]
			x := &Exploration{bounds: bounds, crashes: bounds.Crashes, unclear: bounds.Unclear}
			if x.shared = &x.store; fault != nil {
				x.shared = fault(x.shared)
			}
			world(x)
			var more [][]choice
			if more, err = x.run(path, seen); err != nil {
				err = fmt.Errorf("%w, after\n\t%s", err, strings.Join(x.trace, "\n\t"))
			} else if len(seen) > bounds.States {
				err = fmt.Errorf("there are more than %d states", bounds.States)
			}
			open = append(open, more...)
		}
	})
	return len(seen), err
}

// Store returns the store, for items that exist before the clients start.
func (x *Exploration) Store() kv.Store { return &x.store }

// Go starts a client. Each operation of f waits for its turn, and f may never get past one.
func (x *Exploration) Go(name string, f func(kv.Store)) {
	c := &explorer{x: x, name: name, asks: make(chan *kv.Op), told: make(chan fate)}
	x.clients = append(x.clients, c)
	c.start = func() {
		go func() {
			defer close(c.asks)
			f(c)
		}()
		c.next = <-c.asks
	}
}

// Always checks every state with f, on a copy of the store that f may change.
func (x *Exploration) Always(f func(kv.Store) error) { x.checks = append(x.checks, f) }

// Sees adds f's text to the identity of states. It is for effects of the clients that show neither
// in the store nor in the answers they got.
func (x *Exploration) Sees(f func() string) { x.views = append(x.views, f) }

type choice struct {
	of   int // index of the client or, for landed, of the flying operation
	fate fate
}

type fate uint8

const (
	carriedOut fate = iota
	unclear         // not carried out yet, ErrUnclear
	crashed         // the client ends, and its operation is not carried out
	landed          // an unclear operation is carried out
)

// run follows path, and then new states. It returns the paths that branch off.
func (x *Exploration) run(path []choice, seen map[[16]byte]bool) (more [][]choice, err error) {
	defer x.end()
	for _, c := range x.clients {
		c.start()
	}
	for _, c := range path {
		x.do(c)
	}
	for {
		state := x.state()
		if seen[state] {
			return more, nil
		}
		seen[state] = true
		for _, check := range x.checks {
			store := items{maps.Clone(x.store.at)}
			if err := check(&store); err != nil {
				return nil, err
			}
		}
		choices := x.choices()
		if len(choices) == 0 {
			return more, nil
		}
		for _, c := range choices[1:] {
			more = append(more, append(slices.Clone(path), c))
		}
		path = append(slices.Clone(path), choices[0])
		x.do(choices[0])
	}
}

func (x *Exploration) choices() (all []choice) {
	for i, c := range x.clients {
		if c.next == nil {
			continue
		}
		all = append(all, choice{i, carriedOut})
		if x.crashes > 0 {
			all = append(all, choice{i, crashed})
		}
		if x.unclear > 0 && c.next.Kind.Writes() {
			all = append(all, choice{i, unclear})
		}
	}
	for i := range x.flying {
		all = append(all, choice{i, landed})
	}
	return all
}

func (x *Exploration) do(what choice) {
	if what.fate == landed {
		op := x.flying[what.of]
		x.flying = slices.Delete(slices.Clone(x.flying), what.of, what.of+1)
		r := x.carryOut(op)
		x.tell("late: %v %q -> %v", op.Kind, op.Key, r.Err)
		return
	}
	c := x.clients[what.of]
	op := c.next
	switch what.fate {
	case carriedOut:
		op.Result = x.carryOut(*op)
		x.tell("%s: %v %q -> %v", c.name, op.Kind, op.Key, op.Result.Err)
	case unclear:
		late := *op
		late.Value = slices.Clone(op.Value)
		x.flying, x.unclear = append(x.flying, late), x.unclear-1
		op.Result = kv.Result{Err: kv.ErrUnclear}
		x.tell("%s: %v %q is unclear", c.name, op.Kind, op.Key)
	case crashed:
		x.crashes--
		x.tell("%s: crashes before %v %q", c.name, op.Kind, op.Key)
	}
	c.remember(what.fate, op.Result)
	c.told <- what.fate
	c.next = <-c.asks
}

func (x *Exploration) carryOut(op kv.Op) kv.Result {
	ops := []kv.Op{op}
	_ = x.shared.Do(context.Background(), ops)
	return ops[0].Result
}

func (x *Exploration) tell(format string, args ...any) {
	x.trace = append(x.trace, fmt.Sprintf(format, args...))
}

func (x *Exploration) state() (sum [16]byte) {
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(x.store.at)) {
		item := x.store.at[key]
		fmt.Fprintf(h, "%q %q %d %v\n", key, item.value, item.version, item.present)
	}
	for _, c := range x.clients {
		h.Write(c.memory[:])
	}
	for _, view := range x.views {
		fmt.Fprintf(h, "%q\n", view())
	}
	for _, op := range x.flying {
		fmt.Fprintf(h, "%v %q %q %d %q\n", op.Kind, op.Key, op.Value, op.Version, op.Unless)
	}
	fmt.Fprintln(h, x.crashes, x.unclear)
	copy(sum[:], h.Sum(nil))
	return sum
}

func (x *Exploration) end() {
	for _, c := range x.clients {
		for c.next != nil {
			c.told <- crashed
			c.next = <-c.asks
		}
	}
}

type explorer struct {
	x      *Exploration
	name   string
	start  func()
	asks   chan *kv.Op // closed when the client has ended
	told   chan fate
	next   *kv.Op   // the operation it waits for; nil if it has ended
	memory [32]byte // a hash of its answers, which determine its behavior
}

func (c *explorer) remember(f fate, r kv.Result) {
	h := sha256.New()
	h.Write(c.memory[:])
	fmt.Fprintf(h, "%d %v %q %d", f, r.Err, r.Value, r.Number)
	h.Write(binary.AppendUvarint(nil, uint64(r.Version)))
	h.Sum(c.memory[:0])
}

func (c *explorer) Do(_ context.Context, ops []kv.Op) error {
	kv.Check(ops, c.Powers())
	var chains kv.Chains
	for i := range ops {
		if op := &ops[i]; op.Result.Err == nil && !chains.Skips(op) {
			c.asks <- op
			if <-c.told == crashed {
				runtime.Goexit()
			}
		}
		chains.Note(&ops[i])
	}
	return kv.Unanswered(ops)
}

func (c *explorer) Powers() kv.Powers {
	p := c.x.bounds.Powers
	return kv.Powers{Unless: p.Unless, Ordered: p.Ordered}
}

func (c *explorer) Close() error { return nil }

// Model is a protocol as a graph of complete states. A crash is a step only if another process must
// react to it: a process that takes no more steps has crashed, and every state is checked.
type Model[S comparable] struct {
	Begin S

	// Steps calls step with every possible next state of s, and a description of the step.
	Steps func(s S, step func(to S, format string, args ...any))

	Wrong func(s S) string

	Most int
}

// Reach visits all states that m can reach, breadth first, and returns their number. If one is
// wrong, the error is the shortest path to it. [Explore] checks code, and Reach a description of
// it, which reaches much further.
func Reach[S comparable](m Model[S]) (states int, err error) {
	seed := maphash.MakeSeed()
	// Only a hash of each state and the path to it are stored, so that millions fit into memory.
	seen := map[uint64]struct{}{maphash.Comparable(seed, m.Begin): {}}
	from, by := []int32{-1}, []uint16{0}
	open := []S{m.Begin}
	for i := 0; len(open) > 0 && err == nil; i++ {
		s := open[0]
		open = open[1:]
		n := uint16(0)
		m.Steps(s, func(to S, _ string, _ ...any) {
			n++
			hash := maphash.Comparable(seed, to)
			if _, known := seen[hash]; known || err != nil {
				return
			}
			seen[hash] = struct{}{}
			from, by, open = append(from, int32(i)), append(by, n), append(open, to)
			if wrong := m.Wrong(to); wrong != "" {
				err = fmt.Errorf("%s, after\n\t%s", wrong, m.way(from, by, len(from)-1))
			}
		})
		if len(from) > m.Most && err == nil {
			err = fmt.Errorf("there are more than %d states", m.Most)
		}
	}
	return len(from), err
}

func (m Model[S]) way(from []int32, by []uint16, at int) string {
	var choices []uint16
	for ; from[at] >= 0; at = int(from[at]) {
		choices = append(choices, by[at])
	}
	var told []string
	s := m.Begin
	for i := len(choices) - 1; i >= 0; i-- {
		n, was := uint16(0), s
		m.Steps(was, func(to S, format string, args ...any) {
			if n++; n == choices[i] {
				s = to
				told = append(told, fmt.Sprintf(format, args...))
			}
		})
	}
	return strings.Join(told, "\n\t")
}
