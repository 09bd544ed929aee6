package kvfault

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

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
