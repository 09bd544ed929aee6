package kvmodel

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// otherTries is how often a rebuild checks, once a second, whether processes without an index have
// ended.
const otherTries = 60

// awaitOthers returns when no live process writes the model without one of its indexes. An
// ErrNeedsRebuild names a process that does not end. Lines of dead processes are repaired. b is
// then fencing, because their requests may still be in flight.
func (b *building) awaitOthers(ctx context.Context) error {
	if b.db.alone {
		return nil // no other process has the store
	}
	if err := b.awaitPast(ctx); err != nil {
		return err
	}
	var living string
	var dead []string
	for range otherTries {
		var err error
		if living, dead, err = b.others(ctx); err != nil {
			return err
		}
		if living == "" {
			break
		}
		if !kv.Sleep(ctx, time.Second) {
			break
		}
	}
	if living != "" {
		return fmt.Errorf("%w, but process %s writes %s with other indexes: end it first", plug.ErrNeedsRebuild, living, b.name)
	}
	if b.fencing = len(dead) > 0; !b.fencing {
		return nil
	}
	// A process that checked the built item just before may have sent a change.
	if wait := goodFor - b.db.now().Sub(b.named); wait > 0 && !kv.Sleep(ctx, wait) {
		return kv.TooLate(ctx)
	}
	return b.repairAll(ctx, dead)
}

// awaitPast returns when all running processes know of the last accepted loss. The list of journals
// may have been lost: until then, processes may write to journals that it does not name.
func (b *building) awaitPast(ctx context.Context) error {
	number, _ := kv.EditionOf(b.db.losses)
	if number <= 1 || number == b.past || !b.isWhole() || len(b.missing()) == 0 {
		return nil
	}
	if !kv.Sleep(ctx, goodFor) {
		return kv.TooLate(ctx)
	}
	b.past = number
	return nil
}

// others returns the name of a live process without an index of the model, or "", and the names of
// the dead ones.
func (b *building) others(ctx context.Context) (living string, dead []string, err error) {
	all, err := journal.Others(ctx, b.db.store, b.db.journal.IsOwn, nil)
	if err != nil {
		return "", nil, err
	}
	for _, other := range all {
		// With a damaged head, the missing indexes are unknown.
		tick, shapes, damaged := other.Head()
		lacks := damaged != nil || slices.ContainsFunc(shapes, func(shape string) bool { return b.lacks(shape) })
		switch {
		case !lacks:
		case b.db.repairer.IsDead(other.Process, tick):
			dead = append(dead, other.Process)
		default:
			living = b.db.called(other)
		}
	}
	return living, dead, nil
}

// repairAll repairs the lines of the model in the journals of processes. It fences the records that
// they were about to create.
func (b *building) repairAll(ctx context.Context, processes []string) error {
	for _, process := range processes {
		j, err := journal.Read(ctx, b.db.store, process)
		if err != nil {
			return err
		}
		lines := slices.DeleteFunc(j.Lines, func(l journal.Line) bool { return l.Model != b.name })
		for batch := range slices.Chunk(journal.Merge(lines), recordsAtOnce) {
			errs := kv.Each(ctx, b.db.store, batch, func(s kv.Store, _ int, l journal.Line) error { return b.RepairLine(ctx, s, l) })
			if err := work.FirstError(errs...); err != nil && !work.Waits(err) {
				return err
			}
		}
	}
	return nil
}
