package kvtest

import (
	"slices"
	"sync"
	"testing"

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
