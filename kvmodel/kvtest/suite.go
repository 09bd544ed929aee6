// Package kvtest tests stores against the contract of package kv, and simulates faults for the
// protocols that run on them.
//
//   - [Run] is the suite that every store passes.
//   - [Simulate] runs clients on a store that fails in every way the contract allows, one step at a
//     time, in an order determined by a seed. The same seed gives the same run.
//   - [Faulty] makes one chosen operation of a store fail.
//   - [Clock] is the clock of a process that may be wrong.
//   - [Slow] adds latency, so that a test can count the trips made in sequence.
package kvtest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Cases returns the suite in the order it runs.
func Cases() []Case {
	return slices.Concat(
		getCases, setCases, addCases, swapCases, deleteCases, dropCases,
		appendCases, unlessCases, incrementCases, versionCases, refusalCases(),
		keyCases(), valueCases(), tripCases, contextCases, closeCases,
		clientCases, atomicCases, listingCases, walkingCases, concurrentCases, ttlCases,
	)
}

// Run checks that the stores of m keep the contract. Each case is a subtest with its own store.
func Run(t *testing.T, m Maker) {
	if open := m.Open; m.Shown {
		m.Open = func(t testing.TB, name string) kv.Store { return shown{t, open(t, name)} }
	}
	has := m.has(t)
	var waiting sync.WaitGroup
	// A Fatal must not leave subtests running either.
	defer waiting.Wait()
	count := 0
	for _, c := range Cases() {
		if c.needs&^has&^sleeps != 0 {
			continue
		}
		count++
		test := func() { t.Run(c.Name, func(t *testing.T) { c.Check(t, m) }) }
		if c.needs&sleeps != 0 && m.Advance == nil {
			waiting.Go(test)
		} else {
			test()
		}
	}
	t.Logf("kvtest: %d cases; %d more ask for what this store does not have", count, len(Cases())-count)
}

func (m Maker) has(t testing.TB) need {
	s := m.Open(t, newName())
	powers := kv.PowersOf(s)
	if err := s.Close(); err != nil {
		t.Fatalf("Close of an unused store: %v", err)
	}
	var n need
	for _, part := range []struct {
		there bool
		need  need
	}{
		{m.Shared, shared}, {m.Kept, kept}, {powers.Ordered, ordered}, {powers.Atomic != nil, atomically},
		{powers.Unless, unless}, {!powers.Unless, noUnless}, {!m.Loose, exact}, {powers.Keys != nil, listing},
		{powers.Walk != nil, walking},
	} {
		if part.there {
			n |= part.need
		}
	}
	return n
}

// Maker opens the store under test.
type Maker struct {
	// Open returns a client of the store called name: an empty store, or another client of the same
	// data if the name was used before. If the store allows one client at a time, Open opens the
	// data again. The suite closes the store.
	Open func(t testing.TB, name string) kv.Store

	// Shared: two clients of one store may be open at once.
	Shared bool

	// Kept: the data outlives the last client.
	Kept bool

	// Abandon, if not nil, copies the open store called name as a crash of its process would leave
	// it, and returns the name of the copy. It must hold the same items after every case.
	Abandon func(t testing.TB, name string) (copied string)

	// Advance moves the clock used for TTLs, which stands still otherwise. If it is nil, the suite
	// waits.
	Advance func(d time.Duration)

	// Clocks returns the times of the servers' clocks, in whole seconds, if these decide when a TTL
	// has passed. If it is nil, the clock of this process does.
	Clocks func(t testing.TB) []time.Time

	// Shown: Run reads with [kv.Near] and a Decoder in each get, whose result the store must keep.
	Shown bool

	// Prefix is the number of bytes that Open's stores put before each key.
	Prefix int

	// Loose: Append can grow a value slightly past MaxValue, and an Increment past MaxNumber is
	// undone.
	Loose bool
}

var names atomic.Int64

func newName() string { return fmt.Sprintf("kvtest%d", names.Add(1)) }

type shown struct {
	t testing.TB
	kv.Store
}

func (s shown) Powers() kv.Powers { return kv.PowersOf(s.Store) }

func (s shown) Do(ctx context.Context, ops []kv.Op) error {
	for i := range ops {
		if op := &ops[i]; op.Kind == kv.Get {
			op.Near, op.Decode = true, func(value []byte) (any, int, error) { return bytes.Clone(value), len(value), nil }
		}
	}
	err := s.Store.Do(ctx, ops)
	for i := range ops {
		r := &ops[i].Result
		if decoded, ok := r.Decoded.([]byte); ok && (r.Err != nil || !bytes.Equal(decoded, r.Value)) {
			s.t.Errorf("a get of %s answered %q, %v, which is not %q", ops[i].Key, r.Value, r.Err, decoded)
		}
		if r.Value != nil {
			r.Value = append([]byte{}, r.Value...) // A caller may change it, and others may share it.
		}
	}
	return err
}

// Case checks one rule of the contract.
type Case struct {
	Name string // unique, such as add/present
	Rule string

	needs need
	run   func(*fixture)
}

// need is a requirement of a case. Run skips cases with unmet needs.
type need uint16

const (
	shared need = 1 << iota
	kept
	unless
	noUnless
	ordered
	atomically
	exact
	listing
	walking
	sleeps // not a need: the case waits for a TTL, so it runs in parallel
)

func (c Case) and(more need) Case {
	c.needs |= more
	return c
}

// Check runs the case on stores of m, which must meet its needs.
func (c Case) Check(t testing.TB, m Maker) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the rule: %s", c.Rule)
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	f := &fixture{TB: t, maker: m, name: newName(), ctx: ctx}
	f.store = f.open()
	c.run(f)
}

// leaves wants ops, one after another, to leave key k with the value want.
func leaves(name, rule, want string, ops ...kv.Op) Case {
	return Case{name, rule, 0, func(f *fixture) {
		f.ok(ops...)
		f.holds("k", want)
	}}
}

// refuses wants op, after others, to end in want and to change nothing.
func refuses(name, rule string, want error, op kv.Op, before ...kv.Op) Case {
	return Case{name, rule, 0, func(f *fixture) {
		f.ok(before...)
		f.refused(op, want)
	}}
}
