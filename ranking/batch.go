package ranking

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
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
}

const (
	windowTime  = time.Second
	windowLimit = 4096
)

// windowMost is how much can wait while the store does not answer. Tests make it
// small.
var windowMost = 4 * windowLimit

// background does work after the reply: Soon does none once it is closed, so that
// nobody asks for ever where there is no answer.
type background interface {
	Later(func(context.Context) error)
	Soon(func(context.Context) error)
}

// window gathers the changes of a process, so that many of one member become
// one, and writes them when the oldest is a second old or there are many.
type window struct {
	write func(context.Context, []change) error

	mu       sync.Mutex // never held during a trip
	gathered map[gathering]change
	writing  int // changes that are being written
	timer    *time.Timer
}

// gathering is what changes are gathered by.
type gathering struct {
	id string
	at time.Time
}

// add gathers c, and has what was gathered written when there is much of it. It
// returns false if too much is waiting already, and c is not gathered.
func (w *window) add(c change, bg background) bool {
	w.mu.Lock()
	before := len(w.gathered)
	room := before+w.writing < windowMost
	if room {
		w.put(c, bg)
	}
	after := len(w.gathered)
	w.mu.Unlock()
	if before < windowLimit && after == windowLimit {
		bg.Later(w.flush)
	}
	return room
}

// keep gathers c after it has failed, however much there is.
func (w *window) keep(c change, bg background) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.put(c, bg)
}

// put gathers c; the caller has the lock.
func (w *window) put(c change, bg background) {
	if w.gathered == nil {
		w.gathered = make(map[gathering]change)
		w.timer = time.AfterFunc(windowTime, func() { bg.Soon(w.flush) })
	}
	of := gathering{c.id, c.at}
	now, there := w.gathered[of]
	c.delta += now.delta
	if there && now.count != nil && (c.count == nil || *now.count > *c.count) {
		c.count = now.count
	}
	w.gathered[of] = c
}

// flush writes what was gathered.
func (w *window) flush(ctx context.Context) error {
	changes := w.take()
	defer w.wrote(len(changes))
	var errs []error
	for part := range slices.Chunk(changes, windowLimit) {
		errs = append(errs, w.write(ctx, part))
	}
	return errors.Join(errs...)
}

// take returns what was gathered, in the order of ids and periods.
func (w *window) take() []change {
	w.mu.Lock()
	changes := slices.Collect(maps.Values(w.gathered))
	w.gathered = nil
	w.writing += len(changes)
	if w.timer != nil {
		w.timer.Stop()
	}
	w.mu.Unlock()
	slices.SortFunc(changes, func(a, b change) int {
		return cmp.Or(strings.Compare(a.id, b.id), a.at.Compare(b.at))
	})
	return changes
}

func (w *window) wrote(changes int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writing -= changes
}
