package kvmodel

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

// knownFormat is the format of what this release stores. A store whose marker names a
// greater one was written by a release that this one cannot follow. One without a marker
// is new, or has lost it, and has format 1.
const knownFormat = 1

// markerKey is the key of the marker: the format of all that a DB stores.
var markerKey = kv.NewClass("format", 1).Key("ringtree")

// markerGood is how long what the marker says may be used, on a store that other processes
// write, too. A DB that has models reads it twice as often, in its looks for the dead.
const markerGood = 2 * times.Look

// markerOf returns the marker of a format. It stands there twice, since all that is stored rests
// on it.
func markerOf(format int) []byte {
	return frame.Twice(strconv.AppendInt(nil, int64(format), 10))
}

// checkMarker returns an ErrUnknownFormat unless the marker names a format that this release
// knows; if it is damaged, an ErrCorrupt. What a later release puts behind the number and a
// blank does not count.
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
		return fmt.Errorf("%w: the store has format %d, and this release knows %d: run a release that knows it", ErrUnknownFormat, format, knownFormat)
	}
	return nil
}

// marked is a store whose marker is read beside the first trip, and added beside the first
// one that writes if it is absent. Only where the very first trip writes, another one reads
// the marker before it.
type marked struct {
	kv.Store
	now    func() time.Time
	seen   *atomic.Pointer[sight] // nil: the marker was not seen, or refuses the store
	shared bool                   // other processes may write the store
	powers *kv.Powers
}

// sight is how a marker was seen that does not refuse the store.
type sight struct {
	absent  bool
	damaged bool // one of the two
	at      time.Time
}

func newMarked(s kv.Store, now func() time.Time) marked {
	p := kv.PowersOf(s)
	m := marked{s, now, new(atomic.Pointer[sight]), !p.Alone, &p}
	if p.Atomic != nil {
		p.Atomic = m.atomically(p.Atomic)
	}
	return m
}

// Powers returns those of the store underneath.
func (m marked) Powers() kv.Powers { return *m.powers }

// atomically returns the power Atomic. What a transaction has seen of the marker counts once
// it is committed.
func (m marked) atomically(outer func(context.Context, func(kv.Store) error) error) func(context.Context, func(kv.Store) error) error {
	return func(ctx context.Context, f func(kv.Store) error) error {
		if m.isDone() {
			return outer(ctx, f)
		}
		var seen atomic.Pointer[sight]
		err := outer(ctx, func(s kv.Store) error {
			seen.Store(m.seen.Load())
			within := kv.PowersOf(s)
			return f(marked{s, m.now, &seen, m.shared, &within})
		})
		if err == nil {
			m.seen.Store(seen.Load())
		}
		return err
	}
}

// Do carries out ops, and beside them what is due of the marker.
func (m marked) Do(ctx context.Context, ops []kv.Op) error {
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

// Memory returns that of the store underneath, once nothing is due of the marker.
func (m marked) Memory(ctx context.Context) (kv.Memory, string) {
	if !m.isDone() {
		return nil, ""
	}
	return kv.MemoryOf(ctx, m.Store)
}

// isDone reports whether nothing is due of the marker.
func (m marked) isDone() bool {
	seen := m.seen.Load()
	return m.isGood(seen) && !seen.absent
}

// isGood reports whether what was seen of the marker may be used.
func (m marked) isGood(seen *sight) bool {
	return seen != nil && (!m.shared || m.now().Sub(seen.at) < markerGood)
}

// again is the key of what says in a context that a trip has to read the marker again.
type again struct{}

// readAgain returns a context whose first trip reads the marker, which others may have
// written.
func (m marked) readAgain(ctx context.Context) context.Context {
	if !m.shared {
		return ctx
	}
	return context.WithValue(ctx, again{}, new(atomic.Bool))
}

// isDue reports whether this is the first trip under a context of readAgain.
func (m marked) isDue(ctx context.Context) bool {
	if !m.shared {
		return false
	}
	done, ok := ctx.Value(again{}).(*atomic.Bool)
	return ok && !done.Swap(true)
}

// beside carries out ops with own, which is of the marker. If that refuses the store, what
// was read counts for nothing. What was written is written.
func (m marked) beside(ctx context.Context, ops []kv.Op, own kv.Op) error {
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

// ask carries out ops, the last of which is of the marker, and returns why that refuses the
// store. If it was not answered, the next trip asks again. The refusal is no ErrCorrupt:
// what was asked for is not damaged.
func (m marked) ask(ctx context.Context, ops []kv.Op) error {
	at := m.now()
	_ = m.Store.Do(ctx, ops) // The results say what its error says.
	own := ops[len(ops)-1]
	err := answered(own)
	switch {
	case err == nil:
		_, damaged := frame.Either(own.Result.Value)
		m.seen.Store(&sight{damaged: own.Kind == kv.Get && damaged != nil, at: at})
	case errors.Is(err, kv.ErrNotFound):
		m.seen.Store(&sight{absent: true, at: at})
	case errors.Is(err, kv.ErrExists):
		m.seen.Store(&sight{}) // Someone has added it since. The next trip reads which.
	case errors.Is(err, ErrUnknownFormat):
		m.seen.Store(nil)
		return kv.Unavailable(fmt.Errorf("%w; see docs/formats.md", err))
	case wire.IsCorrupt(err):
		m.seen.Store(nil)
		return kv.Unavailable(fmt.Errorf("%w: %v: restore it, or call DB.Accept in the newest release that has written the store; see docs/formats.md", ErrUnknownFormat, err))
	}
	return nil
}

// answered returns the error of an op of the marker, or what is wrong with what it has read.
func answered(own kv.Op) error {
	if own.Result.Err == nil && own.Kind == kv.Get {
		return checkMarker(own.Result.Value)
	}
	return own.Result.Err
}

// isDamaged reports whether the marker was damaged when it was last read.
func (m marked) isDamaged() bool {
	seen := m.seen.Load()
	return seen != nil && seen.damaged
}

// damage returns an ErrCorrupt if the marker is damaged.
func (m marked) damage(ctx context.Context) error {
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

// mend writes a marker that is damaged again. The caller has to know that no later release
// has written the store.
func (m marked) mend(ctx context.Context) error {
	if m.damage(ctx) == nil {
		return nil
	}
	_, err := kv.One(ctx, m.Store, kv.OpSet(markerKey, markerOf(knownFormat)))
	return err
}
