package timeline

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// numbered is a ring for each owner, with a key for each event.
type numbered struct {
	common
	process *process
	shape   shape
}

func (r *numbered) lane(owner string) *lane {
	return newLane(r.process, r.base(owner), r.shape)
}

func (r *numbered) push(ctx context.Context, s kv.Store, owner string, entries []entry) error {
	l := r.lane(owner)
	for i, e := range entries {
		err := pushOne(ctx, s, l, e)
		if err != nil && i > 0 {
			return kv.Unclear(err) // Some are stored.
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func pushOne(ctx context.Context, s kv.Store, l *lane, e entry) (err error) {
	if e.stamp, err = l.take(ctx, s); err != nil {
		return err
	}
	if err := l.publish(ctx, s, e); err != nil {
		return err
	}
	l.tidy(ctx, s, e.stamp)
	return nil
}

func (r *numbered) latest(ctx context.Context, s kv.Store, owner string, n int) ([]entry, error) {
	l := r.lane(owner)
	// With repeated subjects, more entries are needed.
	m := newMerge(s, []*lane{l}, false, nil, max(n, n*int(l.stale.Load())/10))
	m.what = r.what
	if err := m.open(ctx); err != nil {
		return nil, err
	}
	items, err := m.gather(ctx, n, func(string) bool { return false })
	if err != nil {
		return nil, err
	}
	if len(items) >= n {
		m.noteStale(10 * len(items) / n)
	}
	entries := make([]entry, len(items))
	for i, it := range items {
		entries[i] = it.entry
	}
	return entries, m.damage()
}

func (r *numbered) clear(ctx context.Context, s kv.Store, owner string) error {
	l := r.lane(owner)
	return deleteAll(ctx, s, l.keys(0, l.shape.blocks))
}

func (r *numbered) tidy([]string) {}
