package ranking

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	// Windowed: a process gathers changes for up to a second, or 4,096 records, and writes them
	// together. After a crash, the record's next change brings the board up to date.
	Windowed Batch = iota

	// Sampled: one change in I is followed, chosen at random. I is the number of levels of a binary
	// tree with a leaf per member, 23 for ten million, or a 64th of the count if that is more. On
	// average a board lags by I changes of the record.
	Sampled

	// Every: each change is followed before the reply.
	Every
)

// Large differences decide the rank of large counts, so they need fewer changes followed.
func interval(n int, count int64) int64 {
	return max(int64(bits.Len(uint(max(n, 2)-1))), max(count, -count)/64)
}

type change struct {
	id string
	at time.Time // begin of the period; zero without periods
}

const (
	windowTime  = time.Second
	windowLimit = 4096
	smallBatch  = 1024
)

// windowMost bounds the changes that wait while the store is down. Tests lower it.
var windowMost = 4 * windowLimit

// window gathers the changes of a process, each member once, until the oldest is a second old or
// there are many.
type window struct {
	db      plug.DB
	due     plug.Latch
	reports *reporter
	size    func() int

	// apply makes changes, one write per node, and returns an error for each.
	apply func(context.Context, kv.Store, []change, *keytree.Due) []error

	turn chan struct{}
	most int

	mu       sync.Mutex
	gathered map[change]bool
	writing  int
	timer    *time.Timer
}

func newWindow(db plug.DB, reports *reporter) *window {
	w := &window{db: db, reports: reports, turn: make(chan struct{}, 1), most: windowMost}
	w.due = db.Latch(w.flush)
	return w
}

// add drops c and returns false if too many changes are waiting.
func (w *window) add(c change) bool {
	w.mu.Lock()
	before := len(w.gathered)
	room := before+w.writing < w.most
	if room {
		w.put(c)
	}
	after := len(w.gathered)
	w.mu.Unlock()
	if before < windowLimit && after == windowLimit {
		w.due.Hurry()
	}
	return room
}

func (w *window) keep(changes ...change) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range changes {
		w.put(c)
	}
}

// The caller of put holds mu.
func (w *window) put(c change) {
	if w.gathered == nil {
		w.gathered = make(map[change]bool)
		w.timer = time.AfterFunc(windowTime, w.due.Hurry)
	}
	w.gathered[c] = true
}

// Each batch of flush is twice as large as the last, and stays written. Nobody waits for the disk,
// since the counts are there before.
func (w *window) flush(ctx context.Context) error {
	ctx = kv.Relaxed(ctx)
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	changes := w.take()
	defer w.wrote(len(changes))
	var all []error
	for most := w.firstBatch(); len(changes) > 0; most = min(2*most, windowLimit) {
		some := changes[:min(most, len(changes))]
		changes = changes[len(some):]
		errs := w.write(ctx, some)
		all = append(all, errs...)
		if !slices.Contains(errs, nil) && errors.Is(summary(errs), kv.ErrUnavailable) {
			w.keep(changes...)
			break
		}
	}
	return summary(all)
}

// firstBatch returns about as many changes as the existing nodes can take.
func (w *window) firstBatch() int { return min(max(smallBatch, 2*w.size()), windowLimit) }

// write gathers failed changes again.
func (w *window) write(ctx context.Context, changes []change) []error {
	errs := make([]error, len(changes))
	err := w.reports.making(ctx, func(s kv.Store, due *keytree.Due) { copy(errs, w.apply(ctx, s, changes, due)) })
	for i := range errs {
		if errs[i] = cmp.Or(errs[i], err); errs[i] != nil {
			w.keep(changes[i])
		}
	}
	return errs
}

func (w *window) writeLater(ctx context.Context, c change) {
	w.db.Later(ctx, func(ctx context.Context) error { return summary(w.write(ctx, []change{c})) })
}

func (w *window) take() []change {
	w.mu.Lock()
	changes := slices.Collect(maps.Keys(w.gathered))
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

const toldFailures = 3

func summary(errs []error) error {
	var failed []error
	for _, err := range errs {
		if err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) == 0 || len(errs) == 1 {
		return cmp.Or(failed...)
	}
	first := kv.Join(failed[:min(len(failed), toldFailures)]...)
	return fmt.Errorf("%d of %d changes were not written: %w", len(failed), len(errs), first)
}
