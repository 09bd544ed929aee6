package kvtest

import (
	"context"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

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
