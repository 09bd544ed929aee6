// Package format keeps releases away from stores of a later format, by a marker in the store.
package format

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/internal/frame"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/internal/wire"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A greater format than knownFormat was written by a later release. A store without a marker is
// new, or has lost it, and has format 1.
const knownFormat = 1

var ErrUnknown = errors.New("unknown format")

var markerKey = kv.NewClass("format", 1).Key("ringtree")

// markerGood is how long a read marker stays valid on a store that other processes write too.
const markerGood = 2 * times.Look

// The marker is stored twice, since everything depends on it.
func markerOf(format int) []byte {
	return frame.Twice(strconv.AppendInt(nil, int64(format), 10))
}

// checkMarker returns an ErrUnknown for a later format, and an ErrCorrupt if the marker is damaged.
func checkMarker(marker []byte) error {
	text, damaged := frame.Either(marker)
	if text == nil {
		return wire.Corrupt(markerKey, damaged)
	}
	digits, _, _ := bytes.Cut(text, []byte(" "))
	format, err := kv.ParseNumber(digits)
	if err != nil {
		return wire.Corrupt(markerKey, fmt.Errorf("%w: %w", codec.ErrCorrupt, err))
	}
	if format > knownFormat {
		return fmt.Errorf("%w: the store has format %d, and this release knows %d: run a release that knows it", ErrUnknown, format, knownFormat)
	}
	return nil
}

// Store reads its marker along with the first trip, or in a trip before a first write, and adds an
// absent one along with the first write.
type Store struct {
	kv.Store
	now    func() time.Time
	seen   *atomic.Pointer[sight] // nil: the marker was not read, or refuses the store
	shared bool                   // with other processes
	powers *kv.Powers
}

type sight struct {
	absent  bool
	damaged bool // one of two copies
	at      time.Time
}

func New(s kv.Store, now func() time.Time) Store {
	p := kv.PowersOf(s)
	m := Store{s, now, new(atomic.Pointer[sight]), !p.Alone, &p}
	if p.Atomic != nil {
		p.Atomic = m.atomically(p.Atomic)
	}
	return m
}

func (m Store) Powers() kv.Powers { return *m.powers }

// atomically wraps Atomic. The marker a transaction read or wrote counts once it has committed.
func (m Store) atomically(outer func(context.Context, func(kv.Store) error) error) func(context.Context, func(kv.Store) error) error {
	return func(ctx context.Context, f func(kv.Store) error) error {
		if m.isDone() {
			return outer(ctx, f)
		}
		var seen atomic.Pointer[sight]
		err := outer(ctx, func(s kv.Store) error {
			seen.Store(m.seen.Load())
			within := kv.PowersOf(s)
			return f(Store{s, m.now, &seen, m.shared, &within})
		})
		if err == nil {
			m.seen.Store(seen.Load())
		}
		return err
	}
}

func (m Store) Do(ctx context.Context, ops []kv.Op) error {
	due := m.isDue(ctx)
	if m.isDone() && !due {
		return m.Store.Do(ctx, ops)
	}
	writes := slices.ContainsFunc(ops, func(op kv.Op) bool { return op.Kind.Writes() })
	if writes && !m.isGood(m.seen.Load()) {
		if refusal := m.ask(ctx, []kv.Op{kv.OpGet(markerKey)}); refusal != nil {
			kv.Check(ops, kv.PowersOf(m.Store))
			return kv.Fail(ops, refusal)
		}
	}
	switch seen := m.seen.Load(); {
	case writes && seen != nil && seen.absent:
		return m.beside(ctx, ops, kv.OpAdd(markerKey, markerOf(knownFormat)))
	case !m.isGood(seen) || due:
		return m.beside(ctx, ops, kv.OpGet(markerKey))
	}
	return m.Store.Do(ctx, ops)
}

func (m Store) Memory(ctx context.Context) (kv.Memory, string) {
	if !m.isDone() {
		return nil, ""
	}
	return kv.MemoryOf(ctx, m.Store)
}

func (m Store) isDone() bool {
	seen := m.seen.Load()
	return m.isGood(seen) && !seen.absent
}

func (m Store) isGood(seen *sight) bool {
	return seen != nil && (!m.shared || m.now().Sub(seen.at) < markerGood)
}

type again struct{}

// ReadAgain returns a context whose first trip reads the marker again.
func (m Store) ReadAgain(ctx context.Context) context.Context {
	if !m.shared {
		return ctx
	}
	return context.WithValue(ctx, again{}, new(atomic.Bool))
}

func (m Store) isDue(ctx context.Context) bool {
	if !m.shared {
		return false
	}
	done, ok := ctx.Value(again{}).(*atomic.Bool)
	return ok && !done.Swap(true)
}

func (m Store) beside(ctx context.Context, ops []kv.Op, own kv.Op) error {
	all := append(slices.Clone(ops), own)
	refusal := m.ask(ctx, all)
	for i := range ops {
		ops[i].Result = all[i].Result
		if refusal != nil && !ops[i].Kind.Writes() {
			ops[i].Result = kv.Result{Err: refusal}
		}
	}
	return kv.Unanswered(ops)
}

// ask carries out ops, the last on the marker, and returns the marker's refusal. It is not an
// ErrCorrupt: the requested items are not damaged. Without an answer the next trip asks again.
func (m Store) ask(ctx context.Context, ops []kv.Op) error {
	at := m.now()
	_ = m.Store.Do(ctx, ops) // the results contain its error
	own := ops[len(ops)-1]
	err := answered(own)
	switch {
	case err == nil:
		_, damaged := frame.Either(own.Result.Value)
		m.seen.Store(&sight{damaged: own.Kind == kv.Get && damaged != nil, at: at})
	case errors.Is(err, kv.ErrNotFound):
		m.seen.Store(&sight{absent: true, at: at})
	case errors.Is(err, kv.ErrExists):
		m.seen.Store(&sight{}) // added by someone else; the next trip reads which
	case errors.Is(err, ErrUnknown):
		m.seen.Store(nil)
		return kv.Unavailable(fmt.Errorf("%w; see docs/releases.md", err))
	case wire.IsCorrupt(err):
		m.seen.Store(nil)
		return kv.Unavailable(fmt.Errorf("%w: %v: restore it, or call DB.Accept in the newest release that has written the store; see docs/releases.md", ErrUnknown, err))
	}
	return nil
}

func answered(own kv.Op) error {
	if own.Result.Err == nil && own.Kind == kv.Get {
		return checkMarker(own.Result.Value)
	}
	return own.Result.Err
}

func (m Store) IsDamaged() bool {
	seen := m.seen.Load()
	return seen != nil && seen.damaged
}

func (m Store) Damage(ctx context.Context) error {
	own := []kv.Op{kv.OpGet(markerKey)}
	_ = m.Store.Do(ctx, own)
	err := answered(own[0])
	if err == nil {
		_, damaged := frame.Either(own[0].Result.Value)
		err = wire.Corrupt(markerKey, damaged)
	}
	if wire.IsCorrupt(err) {
		return err
	}
	return nil
}

// Rewrite rewrites a damaged marker. The caller must know that no later release has written the store.
func (m Store) Rewrite(ctx context.Context) error {
	if m.Damage(ctx) == nil {
		return nil
	}
	_, err := kv.One(ctx, m.Store, kv.OpSet(markerKey, markerOf(knownFormat)))
	return err
}
