package ranking

import (
	"context"
	"sync"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// reporter makes the reports of nodes after the reply, one batch after another.
// What arrives while one is written goes into the next, in which all reports to
// one node are one write.
type reporter struct {
	db plug.DB

	mu   sync.Mutex // never held during a trip
	due  *keytree.Due
	busy bool
}

// add makes the reports of due soon.
func (r *reporter) add(due *keytree.Due) {
	if due.None() {
		return
	}
	r.mu.Lock()
	if r.due == nil {
		r.due = new(keytree.Due)
	}
	r.due.Merge(due)
	begins := !r.busy
	r.busy = true
	r.mu.Unlock()
	if begins {
		r.db.Later(r.run)
	}
}

// run makes reports until none are left. Later reports make up for one that fails.
func (r *reporter) run(ctx context.Context) error {
	for {
		due := r.next()
		if due == nil {
			return nil
		}
		if err := due.Report(ctx, r.db.Store()); err != nil {
			r.stop()
			return err
		}
	}
}

// next takes the reports that are due; nil if there are none.
func (r *reporter) next() *keytree.Due {
	r.mu.Lock()
	defer r.mu.Unlock()
	due := r.due
	r.due, r.busy = nil, due != nil
	return due
}

// stop lets the next report start another run.
func (r *reporter) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = false
}
