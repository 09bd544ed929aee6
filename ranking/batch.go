package ranking

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"
)

// interval returns I: of how many changes of a member one is followed. It is the
// number of levels of a binary tree with n members, or a part of the count of
// those that have the most, whose order is decided by large differences.
func interval(n int, count int64) int64 {
	return max(int64(bits.Len(uint(max(n, 2)-1))), count/64)
}

// chosen returns true once in i times.
func chosen(i int64) bool {
	var b [8]byte
	// It never fails: the runtime ends the program rather.
	_, _ = rand.Read(b[:])
	return binary.BigEndian.Uint64(b[:])%uint64(i) == 0
}

// change is what was counted of a member in a period.
type change struct {
	id    string
	at    time.Time // when the period began; zero without periods
	delta int64
	count *int64 // what it has come to, if that is known
	tries int    // that have failed
}

const (
	windowTime  = time.Second
	windowLimit = 4096
	windowTries = 10 // after which a change is given up
)

// background does work after the reply.
type background interface {
	Later(func(context.Context) error)
}

// window gathers the changes of a process, so that many of one member become
// one, and writes them when the oldest is a second old or there are many.
type window struct {
	write func(context.Context, []change) error

	mu       sync.Mutex // never held during a trip
	gathered map[gathering]change
	timer    *time.Timer
}

// gathering is what changes are gathered by.
type gathering struct {
	id string
	at time.Time
}

// add gathers c, and has what was gathered written if there is much of it.
func (w *window) add(c change, bg background) {
	w.mu.Lock()
	if w.gathered == nil {
		w.gathered = make(map[gathering]change)
		w.timer = time.AfterFunc(windowTime, func() { bg.Later(w.flush) })
	}
	of := gathering{c.id, c.at}
	c.delta += w.gathered[of].delta
	w.gathered[of] = c
	full := len(w.gathered) >= windowLimit
	w.mu.Unlock()
	if full {
		bg.Later(w.flush)
	}
}

// again gathers c once more after it has failed, unless that was too often.
func (w *window) again(c change, bg background) {
	if c.tries++; c.tries < windowTries {
		w.add(c, bg)
	}
}

// flush writes what was gathered.
func (w *window) flush(ctx context.Context) error {
	if changes := w.take(); len(changes) > 0 {
		return w.write(ctx, changes)
	}
	return nil
}

// take returns what was gathered, in the order of ids and periods.
func (w *window) take() []change {
	w.mu.Lock()
	changes := slices.Collect(maps.Values(w.gathered))
	w.gathered = nil
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	slices.SortFunc(changes, func(a, b change) int {
		return cmp.Or(strings.Compare(a.id, b.id), a.at.Compare(b.at))
	})
	return changes
}
