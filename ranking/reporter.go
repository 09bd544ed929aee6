package ranking

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// reporter sends the reports of nodes after the reply. Reports that arrive during a write go into
// the next batch, which writes each node once.
type reporter struct {
	db    plug.DB
	latch plug.Latch

	mu      sync.Mutex
	due     *keytree.Due
	added   int           // additions to due
	made    int           // of these, written
	writing chan struct{} // closed when the running batch ends; nil: none
}

func newReporter(db plug.DB) *reporter {
	r := &reporter{db: db}
	r.latch = db.Latch(func(ctx context.Context) error { return r.flush(ctx, r.count()) })
	return r
}

func (r *reporter) add(due *keytree.Due) {
	if !due.None() {
		r.put(due)
		r.latch.Set()
	}
}

// now sends the reports of due. Failed ones are retried in the background.
func (r *reporter) now(ctx context.Context, due *keytree.Due) error {
	return r.surely(ctx, r.put(due))
}

// With a million members and distinct scores, a path has 8 nodes.
const longWay = 16

// nodeTime limits writes to long paths to four nodes per millisecond.
const nodeTime = time.Millisecond / 4

// together is now for reports that no caller waits for. If due has a long path, it waits first, so
// that more reports join the batch.
func (r *reporter) together(ctx context.Context, due *keytree.Due) error {
	wanted := r.put(due)
	if way := due.Way(); way >= longWay {
		kv.Sleep(ctx, time.Duration(way)*nodeTime)
	}
	return r.surely(ctx, wanted)
}

func (r *reporter) surely(ctx context.Context, wanted int) error {
	err := r.flush(ctx, wanted)
	if err != nil {
		r.latch.Set()
	}
	return err
}

// finish sends the reports of a step, even if the step failed with err: its writes must be reported
// before the line of the change is complete. A transaction makes the reports itself.
func (r *reporter) finish(ctx context.Context, s kv.Store, due *keytree.Due, err error, send func(context.Context, *keytree.Due) error) error {
	switch atomic := kv.PowersOf(r.db.Store()).Atomic != nil; {
	case atomic && err != nil:
		return err
	case atomic:
		return due.Report(ctx, s)
	}
	return cmp.Or(err, send(ctx, due))
}

func (r *reporter) making(ctx context.Context, make func(s kv.Store, due *keytree.Due)) error {
	atomic := kv.PowersOf(r.db.Store()).Atomic
	if atomic == nil {
		due := new(keytree.Due)
		make(r.db.Store(), due)
		r.add(due)
		return nil
	}
	return atomic(ctx, func(s kv.Store) error {
		due := new(keytree.Due)
		make(s, due)
		return due.Report(ctx, s)
	})
}

func (r *reporter) put(due *keytree.Due) (added int) {
	if due.None() {
		return r.count()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.due == nil {
		r.due = new(keytree.Due)
	}
	r.due.Merge(due)
	r.added++
	return r.added
}

func (r *reporter) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.added
}

// flush returns when the first wanted additions are reported. The first waiting caller reports for
// all. After an error the next one tries again.
func (r *reporter) flush(ctx context.Context, wanted int) error {
	for {
		due, adds, wait := r.begin(wanted)
		switch {
		case due != nil:
			err := due.Report(ctx, r.db.Store())
			if r.end(due, adds, err); err != nil {
				return err
			}
		case wait == nil:
			return nil
		default:
			select {
			case <-wait:
			case <-ctx.Done():
				return fmt.Errorf("%w: %w", kv.ErrUnavailable, ctx.Err())
			}
		}
	}
}

func (r *reporter) begin(wanted int) (due *keytree.Due, adds int, wait chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.made >= wanted:
		return nil, 0, nil
	case r.writing != nil:
		return nil, 0, r.writing
	}
	r.writing = make(chan struct{})
	due, r.due = r.due, nil
	return due, r.added, nil
}

func (r *reporter) end(due *keytree.Due, adds int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.writing)
	r.writing = nil
	if err == nil {
		r.made = adds
		return
	}
	if r.due != nil {
		due.Merge(r.due)
	}
	r.due = due
}
