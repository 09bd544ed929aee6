// Package kvtest holds every store to the contract of kvmodel, and is the
// hostile world that protocols are proved in.
//
//   - [Run] is the suite that every store passes: named cases, each with the
//     rule it checks.
//   - [Simulate] runs clients on a store that lies in every allowed way: one
//     step at a time, in an order that a seed decides, with time-outs, crashes
//     and losses. The same seed gives the same run.
//   - [Faulty] makes one chosen operation of a store fail.
//   - [Metamorphic] carries out the same random operations on several stores
//     and wants the same answers; [Linearizable] lets many clients work at once
//     and wants a history that one after another could have made.
//   - [Explore] goes through every order of a few operations of a few clients.
package kvtest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Maker opens the store under test.
type Maker struct {
	// Open returns a client of the store called name. A name it has not met is
	// an empty store; the same name again is another client of the same data,
	// or, of a store that has one client at a time, the reopened data. The
	// suite closes what it opened; Open may leave the rest to t.Cleanup.
	Open func(t testing.TB, name string) kv.Store

	// Shared: two clients of one store may be open at once.
	Shared bool

	// Kept: the data is still there after the last client has closed.
	Kept bool

	// Advance moves the clock that TTLs go by. Where it is nil the suite waits.
	Advance func(d time.Duration)

	// Prefix is how many bytes Open's stores put before a key, as those of
	// kv.Prefix do. The longest key is that much shorter.
	Prefix int

	// Loose: the engine has limits of its own where the contract allows that:
	// Append can grow a value a little past MaxValue, and an Increment past
	// MaxNumber is taken back.
	Loose bool
}

// Case is one thing that a store owes.
type Case struct {
	Name string // unique, such as add/present
	Rule string // what it checks, as a sentence

	needs need
	run   func(*fixture)
}

// need is what a case asks for of the store under test; a store without it is
// not held to the case.
type need uint8

const (
	shared need = 1 << iota
	kept
	unless
	noUnless
	ordered
	atomically
	exact
	sleeps // not a need: the case waits for a TTL, so it runs beside others
)

// Cases returns the suite in the order it runs.
func Cases() []Case {
	return slices.Concat(
		getCases, setCases, addCases, swapCases, deleteCases, dropCases,
		appendCases, unlessCases, incrementCases, versionCases, refusalCases(),
		keyCases(), valueCases(), tripCases, contextCases, closeCases,
		clientCases, atomicCases, concurrentCases, ttlCases,
	)
}

// Run checks that the stores of m keep the contract, each case in a subtest
// and on a store of its own. It logs how many cases there were.
func Run(t *testing.T, m Maker) {
	has := m.has(t)
	var waiting sync.WaitGroup
	// Also a Fatal in between must not leave subtests running.
	defer waiting.Wait()
	count := 0
	for _, c := range Cases() {
		if c.needs&^has&^sleeps != 0 {
			continue
		}
		count++
		test := func() { t.Run(c.Name, func(t *testing.T) { c.check(t, m) }) }
		if c.needs&sleeps != 0 && m.Advance == nil {
			waiting.Go(test)
		} else {
			test()
		}
	}
	t.Logf("kvtest: %d cases; %d more ask for what this store does not have", count, len(Cases())-count)
}

// has returns what the stores of m have of what cases need.
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
		{powers.Unless, unless}, {!powers.Unless, noUnless}, {!m.Loose, exact},
	} {
		if part.there {
			n |= part.need
		}
	}
	return n
}

func (c Case) check(t testing.TB, m Maker) {
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

var names atomic.Int64

// newName returns a store name that this process has not used.
func newName() string { return fmt.Sprintf("kvtest%d", names.Add(1)) }
