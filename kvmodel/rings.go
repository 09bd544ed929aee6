package kvmodel

import (
	"context"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// rings returns the shapes of the model's rings, by name.
func (m *model) rings() map[string][]string {
	all := make(map[string][]string)
	for _, index := range m.indexes() {
		if s, ok := index.(plug.Shaped); ok {
			all[index.Name()] = s.Shapes()
		}
	}
	return all
}

// tendRings looks in the background, now and then, which shapes the model's rings have by
// now, so that a process which only writes knows of another one's, too.
func (m *model) tendRings() {
	if m.plugged.Load().shaped && m.built.IsDue() {
		m.db.Soon(m.lookAtBuilt)
	}
}

// lookAtBuilt reads the built item, and does what is due in it.
func (m *model) lookAtBuilt(ctx context.Context) error {
	if _, err := m.missing(ctx); err != nil {
		return err
	}
	return m.built.Tend(ctx)
}

// awaitRings returns when the model's rings are written in the shapes that are to come,
// and no one writes those any more that the built item is to forget. forgets reports that
// there are some.
func (m *model) awaitRings(ctx context.Context) (forgets bool, err error) {
	wait := func(d time.Duration) error {
		if m.db.atomic == nil && !kv.Sleep(ctx, d) {
			return kv.TooLate(ctx)
		}
		return nil
	}
	for m.built.IsComing() {
		if err := wait(time.Second); err != nil {
			return false, err
		}
		if err := m.lookAtBuilt(ctx); err != nil {
			return false, err
		}
	}
	if forgets = m.built.MayForget(); forgets {
		err = wait(goodFor)
	}
	return forgets, err
}
