package nearkv

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/ringtree/ringtree/internal/bloom"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// absent has a filter of the keys that exist in the store, so it recognizes most absent ones. The
// store lists its keys once and announces new ones. This process adds the keys it writes or reads
// itself, so it never misses an item that it has seen.
type absent struct {
	powers kv.Powers
	room   int
	filter atomic.Pointer[filter]
	again  chan struct{} // holds a token if another filter is wanted
	ctx    context.Context
	end    context.CancelFunc
}

type filter struct {
	*bloom.Filter
	whole atomic.Bool
}

const (
	// share: the filter takes 1/share of a Store's memory.
	share = 16

	// againAfter is the pause before the next filter if the store does not announce its keys at the
	// moment, and againLater if it cannot list them, or has too many.
	againAfter = time.Second
	againLater = 10 * time.Minute
)

var errFull = errors.New("nearkv: more keys than the filter has room for")

func newAbsent(powers kv.Powers, bytes int) *absent {
	if powers.Changes == nil || powers.Keys == nil {
		return nil
	}
	ctx, end := context.WithCancel(context.Background())
	a := &absent{powers: powers, room: bloom.Room(bytes / share), again: make(chan struct{}, 1), ctx: ctx, end: end}
	if !powers.Changes.Announce(a.announced) {
		end()
		return nil
	}
	a.want()
	go a.fill()
	return a
}

func (a *absent) close() {
	if a != nil {
		a.end()
		a.filter.Store(nil)
	}
}

func (a *absent) has(key string) bool {
	if a == nil {
		return false
	}
	f := a.filter.Load()
	return f != nil && f.whole.Load() && f.Lacks(key) && kv.CheckKey(key) == nil && a.powers.Changes.Announcing()
}

func (a *absent) lose(key string) {
	if a == nil {
		return
	}
	if f := a.filter.Load(); f != nil {
		f.AddText(key)
	}
}

func (a *absent) announced(keys []string) {
	f := a.filter.Load()
	if keys == nil || f != nil && f.IsFull() {
		a.want()
	}
	if keys == nil {
		a.filter.Store(nil)
		return
	}
	for _, key := range keys {
		a.lose(key)
	}
}

func (a *absent) want() {
	select {
	case a.again <- struct{}{}:
	default:
	}
}

func (a *absent) fill() {
	for {
		select {
		case <-a.again:
		case <-a.ctx.Done():
			return
		}
		switch err := a.make(); {
		case err == nil:
		case a.powers.Changes.Announcing():
			a.wantIn(againLater)
		default:
			a.wantIn(againAfter)
		}
	}
}

func (a *absent) wantIn(pause time.Duration) {
	kv.Sleep(a.ctx, pause)
	a.want()
}

// make builds a filter. Concurrent writes are announced, or the filter is dropped.
func (a *absent) make() error {
	f := &filter{Filter: bloom.New(a.room)}
	a.filter.Store(f)
	if err := a.list(f); err != nil {
		a.filter.CompareAndSwap(f, nil)
		return err
	}
	f.whole.Store(true)
	return nil
}

func (a *absent) list(f *filter) error {
	if !a.powers.Changes.Announcing() {
		return kv.ErrUnavailable
	}
	return a.powers.Keys(a.ctx, "", func(keys []string) error {
		for _, key := range keys {
			f.AddText(key)
		}
		if f.IsFull() {
			return errFull
		}
		return nil
	})
}
