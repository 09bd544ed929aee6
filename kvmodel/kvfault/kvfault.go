// Package kvfault has stores that fail on purpose, for tests and demonstrations, such as of a
// crash.
package kvfault

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Fault is the fate of one op.
type Fault uint8

// Late and ByRate are for a simulated world.
const (
	ByRate Fault = iota // decided by the probabilities
	None                // carried out and answered
	Unsent              // not carried out, ErrUnavailable
	Lost                // not carried out, ErrUnclear
	Mute                // carried out, ErrUnclear
	Late                // ErrUnclear, and carried out once at some later step
	Full                // for a write that stores a value: not carried out, ErrUnavailable
)

// Stops reports whether the fault keeps an op of that kind from being carried out.
func (f Fault) Stops(kind kv.Kind) bool {
	return f == Full && kind.Writes() && kind != kv.Delete && kind != kv.CompareAndDelete
}

var (
	errFull    = fmt.Errorf("kvfault: %w: the store is full", kv.ErrUnavailable)
	errUnsent  = fmt.Errorf("kvfault: %w: not sent", kv.ErrUnavailable)
	errUnread  = fmt.Errorf("kvfault: %w: no answer", kv.ErrUnavailable)
	errUnclear = fmt.Errorf("kvfault: %w: no answer", kv.ErrUnclear)
)

// Faulty returns s with a fault on the nth op, counted from 1; all other ops work, even in the same
// trip. Late acts like Mute; ByRate and None are no fault. Ops inside Atomic are not counted, and
// the store is not Ordered.
func Faulty(s kv.Store, n int, fault Fault) kv.Store {
	return &faulty{Store: s, left: n, fault: fault}
}

type faulty struct {
	kv.Store
	fault Fault

	mu   sync.Mutex
	left int
}

func (f *faulty) Powers() kv.Powers {
	powers := kv.PowersOf(f.Store)
	powers.Ordered = false
	return powers
}

func (f *faulty) Do(ctx context.Context, ops []kv.Op) error {
	kv.Check(ops, f.Powers())
	at := f.place(ops)
	if at < 0 || f.fault == ByRate || f.fault == None || f.fault == Full && !f.fault.Stops(ops[at].Kind) {
		return f.Store.Do(ctx, ops)
	}
	f.others(ctx, ops, at)
	if f.fault == Mute || f.fault == Late {
		_ = f.Store.Do(ctx, ops[at:at+1])
	}
	ops[at].Result = kv.Result{Err: f.errorOf(ops[at].Kind)}
	return kv.Unanswered(ops)
}

func (f *faulty) place(ops []kv.Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range ops {
		if ops[i].Result.Err != nil {
			continue
		}
		if f.left--; f.left == 0 {
			return i
		}
	}
	return -1
}

func (f *faulty) others(ctx context.Context, ops []kv.Op, at int) {
	rest := append(append([]kv.Op{}, ops[:at]...), ops[at+1:]...)
	_ = f.Store.Do(ctx, rest)
	for i := range rest {
		place := i
		if i >= at {
			place++
		}
		ops[place].Result = rest[i].Result
	}
}

func (f *faulty) errorOf(kind kv.Kind) error {
	switch {
	case f.fault == Unsent:
		return errUnsent
	case f.fault == Full:
		return errFull
	case kind.Writes():
		return errUnclear
	}
	return errUnread
}

// Killed returns s for a process that is killed while it sends the first op for which before is
// true. Neither this op nor any later one is carried out. Of the same trip, the earlier ops are
// carried out, and on a store that is not Ordered all others. A transaction with such an op is
// undone. Closing the store leaves s open.
func Killed(s kv.Store, before func(op kv.Op) bool) kv.Store {
	return &killed{Store: s, before: before, dead: new(atomic.Bool)}
}

type killed struct {
	kv.Store
	before func(kv.Op) bool
	dead   *atomic.Bool
}

var errKilled = fmt.Errorf("kvfault: %w: the process was killed", kv.ErrUnavailable)

func (k *killed) Do(ctx context.Context, ops []kv.Op) error {
	at := slices.IndexFunc(ops, k.before)
	if !k.dead.Load() && at < 0 {
		return k.Store.Do(ctx, ops)
	}
	if !k.dead.Swap(true) {
		sent := slices.Clone(ops[:at])
		if !kv.PowersOf(k.Store).Ordered {
			sent = append(sent, slices.DeleteFunc(slices.Clone(ops[at+1:]), k.before)...)
		}
		_ = k.Store.Do(ctx, sent)
	}
	return kv.Fail(ops, errKilled)
}

func (k *killed) Powers() kv.Powers {
	p := kv.PowersOf(k.Store)
	p.Alone, p.Near, p.Changes = false, false, nil
	if transact := p.Atomic; transact != nil {
		p.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
			return transact(ctx, func(s kv.Store) error {
				err := f(&killed{s, k.before, k.dead})
				if k.dead.Load() {
					return errKilled // which undoes it
				}
				return err
			})
		}
	}
	return p
}

func (k *killed) Close() error { return nil }

// SingleKeys returns s without transactions: it changes one key at a time, in no order, for several
// processes.
func SingleKeys(s kv.Store) kv.Store { return singleKeys{s} }

type singleKeys struct{ kv.Store }

func (s singleKeys) Powers() kv.Powers {
	p := kv.PowersOf(s.Store)
	p.Atomic, p.Alone, p.Local, p.Ordered = nil, false, false, false
	return p
}
