package kvmodel

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// OnTrip calls hook for each trip that ends, like Hooks.Trip, until stop is called. It is for
// watching a running app: without listeners a trip costs nothing extra. A trip that ends during the
// call of stop may still be reported.
func (db *DB) OnTrip(hook func(ctx context.Context, t Trip)) (stop func()) {
	return db.trips.add(hook)
}

// listeners is a store that reports its trips while anyone listens.
type listeners struct {
	kv.Store           // without reports
	telling  kv.Store  // with reports
	powers   kv.Powers // that choose between the two

	mu  sync.Mutex // held while all is replaced
	all atomic.Pointer[[]*listener]
}

// listener holds a hook, since funcs cannot be compared.
type listener struct {
	hook func(context.Context, Trip)
}

func newListeners(s kv.Store) *listeners {
	l := &listeners{Store: s}
	l.telling = kv.Trace(s, l.tell)
	l.powers = kv.PowersOf(s)
	if silent := l.powers.Atomic; silent != nil {
		telling := kv.PowersOf(l.telling).Atomic
		l.powers.Atomic = func(ctx context.Context, f func(kv.Store) error) error {
			if l.all.Load() == nil {
				return silent(ctx, f)
			}
			return telling(ctx, f)
		}
	}
	return l
}

func (l *listeners) Powers() kv.Powers { return l.powers }

func (l *listeners) Do(ctx context.Context, ops []kv.Op) error {
	if l.all.Load() == nil {
		return l.Store.Do(ctx, ops)
	}
	return l.telling.Do(ctx, ops)
}

// Memory returns the Memory of the underlying store, while nobody listens.
func (l *listeners) Memory(ctx context.Context) (kv.Memory, string) {
	if l.all.Load() != nil {
		return nil, ""
	}
	return kv.MemoryOf(ctx, l.Store)
}

func (l *listeners) tell(ctx context.Context, t Trip) {
	if all := l.all.Load(); all != nil {
		for _, one := range *all {
			one.hook(ctx, t)
		}
	}
}

func (l *listeners) add(hook func(context.Context, Trip)) (stop func()) {
	one := &listener{hook}
	l.change(func(all []*listener) []*listener { return append(all, one) })
	return func() {
		l.change(func(all []*listener) []*listener {
			return slices.DeleteFunc(all, func(other *listener) bool { return other == one })
		})
	}
}

// change replaces all with the result of to on a copy.
func (l *listeners) change(to func([]*listener) []*listener) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*listener
	if now := l.all.Load(); now != nil {
		all = slices.Clone(*now)
	}
	if all = to(all); len(all) == 0 {
		l.all.Store(nil)
		return
	}
	l.all.Store(&all)
}
