package ranking

import (
	"context"
	"sync"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/ranking/internal/keytree"
)

// reporter makes the reports of pages after the reply, one lot after another:
// what comes while a lot is under way is the next one, in which reports to one
// page are one write.
type reporter struct {
	db plug.DB

	mu   sync.Mutex // never held during a trip
	due  *keytree.Due
	busy bool
}

// add has the reports of due made soon.
func (r *reporter) add(due *keytree.Due) {
	if due == nil || due.None() {
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

// run makes reports until there are none. What fails is healed by later ones.
func (r *reporter) run(ctx context.Context) error {
	for {
		r.mu.Lock()
		due := r.due
		r.due = nil
		r.busy = due != nil
		r.mu.Unlock()
		if due == nil {
			return nil
		}
		if err := due.Report(ctx, r.db.Store()); err != nil {
			r.stop()
			return err
		}
	}
}

// stop lets the next report begin anew.
func (r *reporter) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy = false
}
