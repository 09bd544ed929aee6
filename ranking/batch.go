package ranking

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// Batch is when a board follows its counter.
type Batch int

const (
	// Windowed: what a process counts is gathered for up to a second, or 4,096
	// records, and then written together. A crash loses nothing: the record's
	// next change brings what the board missed.
	Windowed Batch = iota

	// Sampled: one change in I is followed, chosen at random. I is the number of
	// levels of a binary tree with as many leaves as there are members, 23 for ten
	// million, or a 64th of the count if that is more. Nothing is kept in memory;
	// a board lags by I changes of the record on average.
	Sampled

	// Every: each change is followed before the reply.
	Every
)

// interval returns I for a board of n members: one change in I of a member is
// followed. A member with a large count needs fewer, since large differences
// decide its rank.
func interval(n int, count int64) int64 {
	return max(int64(bits.Len(uint(max(n, 2)-1))), count/64)
}

// chosen returns true once in i times.
func chosen(i int64) bool { return kv.Random()%uint64(i) == 0 }

// change is what was counted of a member in a period.
type change struct {
	id    string
	at    time.Time // when the period began; zero without periods
	delta int64
	count *int64 // the count that was reached, if it is known
}

const (
	windowTime  = time.Second
	windowLimit = 4096
)

// windowMost is how many changes can wait while the store does not answer. Tests
// make it small.
var windowMost = 4 * windowLimit

// window gathers the changes of a process, so that many of one member become
// one. It writes them when the oldest is a second old or there are many.
type window struct {
	db      plug.DB
	reports *reporter
	write   func(context.Context, kv.Store, change, *keytree.Due) error
	again   func(error) bool // reports whether to write a change again after this error

	mu       sync.Mutex // never held during a trip
	gathered map[gathering]change
	writing  int // changes being written
	timer    *time.Timer
}

// gathering identifies changes that become one.
type gathering struct {
	id string
	at time.Time
}

// add gathers c, and starts a write if many changes have been gathered. It
// returns false, and does not gather c, if too many are already waiting.
func (w *window) add(c change) bool {
	w.mu.Lock()
	before := len(w.gathered)
	room := before+w.writing < windowMost
	if room {
		w.put(c)
	}
	after := len(w.gathered)
	w.mu.Unlock()
	if before < windowLimit && after == windowLimit {
		w.db.Later(w.flush)
	}
	return room
}

// keep gathers c after it has failed, however many are waiting.
func (w *window) keep(c change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.put(c)
}

// put gathers c; the caller has the lock. The timer's flush is Soon, which ends
// when the database closes, so it does not go on asking a store that is gone.
func (w *window) put(c change) {
	if w.gathered == nil {
		w.gathered = make(map[gathering]change)
		w.timer = time.AfterFunc(windowTime, func() { w.db.Soon(w.flush) })
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
		errs = append(errs, w.writeAll(ctx, part))
	}
	return errors.Join(errs...)
}

// writeAll writes changes side by side, and reports once for all of them. What
// fails is gathered again.
func (w *window) writeAll(ctx context.Context, changes []change) error {
	due := new(keytree.Due)
	errs := kv.Each(ctx, w.db.Store(), changes, func(s kv.Store, _ int, c change) error {
		return w.write(ctx, s, c, due)
	})
	for i, err := range errs {
		if err != nil && w.again(err) {
			w.keep(changes[i])
		}
	}
	w.reports.add(due)
	return errors.Join(errs...)
}

// take returns what was gathered, ordered by id and period.
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
