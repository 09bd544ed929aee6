package kvmodel

import (
	"context"
	"sync"
	"time"

	"github.com/ringtree/ringtree/internal/envelope"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/times"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// A tombstone names the places of the deleted record, so that an unfinished deletion can be cleaned
// up. An hour after A4, when no request that entered something there can still be running, the
// places are cleaned a second time and the tombstone is rewritten without them.

// forgottenAtOnce is the number of tombstones cleaned in one look.
const forgottenAtOnce = 500

// maxDeletions is the number of tombstones a model remembers to clean later. Beyond it the oldest
// are cleaned immediately. Tests use a smaller number.
var maxDeletions = 4096

// deletions are the records this process has seen deleted and whose tombstones need the second
// cleaning, oldest first.
type deletions struct {
	most int // maxDeletions

	mu  sync.Mutex // never held during a trip
	all []deletion
}

type deletion struct {
	id   string
	seen time.Time
}

// note adds id, and reports whether there are now more than most.
func (d *deletions) note(id string, now time.Time) (over bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, deletion{id, now})
	return len(d.all) > d.most
}

// due removes and returns a batch of the deletions seen before the given time or in excess of most.
func (d *deletions) due(before time.Time) (some []deletion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(some) < forgottenAtOnce && len(d.all) > 0 && (len(d.all) > d.most || d.all[0].seen.Before(before)) {
		some, d.all = append(some, d.all[0]), d.all[1:]
	}
	return some
}

// noteDeleted schedules the second cleaning of the tombstone env, if there is anything to clean.
func (m *model) noteDeleted(id string, env *envelope.Envelope) {
	if env == nil || !env.Deleted || len(env.Lost) == 0 && !m.forgets {
		return
	}
	if m.deletions.note(id, m.db.now()) {
		m.cleans.Set()
	}
}

// forgetDue cleans the tombstones that are due. Failures are retried.
func (m *model) forgetDue(ctx context.Context) error {
	due := m.deletions.due(m.db.now().Add(-times.Forget))
	errs := kv.Each(ctx, m.db.store, due, func(s kv.Store, _ int, d deletion) error { return m.forget(ctx, s, d.id) })
	for i, err := range errs {
		if err != nil {
			m.deletions.note(due[i].id, m.db.now())
		}
	}
	return work.FirstError(errs...)
}

// forget cleans the tombstone of id for the second time, if it still is one.
func (m *model) forget(ctx context.Context, s kv.Store, id string) error {
	rec, err := m.seeOne(ctx, s, id)
	if err != nil || rec.Envelope == nil || !rec.Envelope.Deleted {
		return err
	}
	env := *rec.Envelope
	env.Lost = nil
	var works []func(kv.Store) error
	if m.forgets {
		works = append(works, func(s kv.Store) error { return m.dropHistory(ctx, s, id) })
	}
	for _, t := range lost(rec) {
		switch index := m.index(t.Index).(type) {
		case nil: // a process with this index may have something to clean there
			env.Lost = append(env.Lost, t)
		case plug.Forgetter:
			works = append(works, func(s kv.Store) error { return index.Forget(ctx, s, id, rec.Rev, t.Places) })
		}
	}
	if err := work.FirstError(kv.Together(ctx, s, works...)...); err != nil || len(env.Lost) == len(rec.Envelope.Lost) {
		return m.failure(id, err)
	}
	_, err = kv.One(ctx, s, m.store(rec, &env))
	if kv.Raced(err) {
		return nil // created again, or another process was first
	}
	return m.failure(id, err)
}
