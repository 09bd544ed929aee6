package kvmodel

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// Hooks observe a DB for logging, tracing and metrics. They should be quick. A nil hook is not
// called.
type Hooks struct {
	// Verb is called when a verb or background task begins, and the returned func when it ends. Its
	// trips are made under the returned context. A verb within another is part of that one.
	Verb func(ctx context.Context, w kv.Work) (context.Context, func())

	// Trip is called when a trip has ended; its For names the verb. A trip of [DB.SideBySide]
	// serves several verbs, except on a store with [kv.Powers.Local].
	Trip func(ctx context.Context, trip kv.Trip)

	// Build is called about every 1,000 records of a build and when one ends. Calls may be
	// concurrent.
	Build func(b Build)
}

// Begin marks the start of an app's own operation, such as a page, to which verbs and trips under
// the returned context belong. Call the func at the end. Names should be few.
func (db *DB) Begin(ctx context.Context, name string) (context.Context, func()) {
	return db.core.BeginWork(ctx, kv.Work{Verb: name})
}

// Named returns the DB on behalf of an index or counter of a model, or of one without a model. It
// is for the index classes of this module.
func (db *DB) Named(name, index string) plug.DB {
	if m := db.core.Model(name); m != nil {
		return scoped{m.Db.Of(index), db}
	}
	return scoped{core.Scope{DB: db.core, Name: name, Index: index}, db}
}

// OnTrip calls hook for each trip that ends until stop is called. Without listeners a trip costs
// nothing extra. A trip that ends during stop may still be reported.
func (db *DB) OnTrip(hook func(ctx context.Context, t kv.Trip)) (stop func()) {
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
	hook func(context.Context, kv.Trip)
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

func (l *listeners) tell(ctx context.Context, t kv.Trip) {
	if all := l.all.Load(); all != nil {
		for _, one := range *all {
			one.hook(ctx, t)
		}
	}
}

func (l *listeners) add(hook func(context.Context, kv.Trip)) (stop func()) {
	one := &listener{hook}
	l.change(func(all []*listener) []*listener { return append(all, one) })
	return func() {
		l.change(func(all []*listener) []*listener {
			return slices.DeleteFunc(all, func(other *listener) bool { return other == one })
		})
	}
}

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

type outages struct {
	log *slog.Logger

	mu   sync.Mutex // never held during a trip
	away map[string]bool
}

func (o *outages) hear(out kv.Outage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if out.Over {
		delete(o.away, out.Server)
		o.log.Info("ringtree: a server of the store answers again",
			"server", out.Server, "after", time.Since(out.Since).Round(time.Millisecond))
		return
	}
	o.away[out.Server] = true
	o.log.Warn("ringtree: waiting for a server of the store", "server", out.Server, "what", work.Clip(out.Why))
}

func (o *outages) servers() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(o.away))
}
