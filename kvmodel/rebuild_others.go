package kvmodel

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/internal/work"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// otherTries is how often, once a second, a rebuild looks whether processes that lack
// an index have ended.
const otherTries = 60

// awaitOthers returns when no process that lives writes the model without one of its
// indexes. An ErrNeedsRebuild names one that does not end. What the dead have left is
// repaired, and b is fencing then: requests of theirs may still be under way.
func (b *building) awaitOthers(ctx context.Context) error {
	if b.db.alone {
		return nil // No one else has the store.
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
		return fmt.Errorf("%w, but process %s writes %s with other indexes: end it first", ErrNeedsRebuild, living, b.name)
	}
	if b.fencing = len(dead) > 0; !b.fencing {
		return nil
	}
	// One that has looked at the built item just before then may have sent a change.
	if wait := goodFor - b.db.now().Sub(b.named); wait > 0 && !kv.Sleep(ctx, wait) {
		return kv.TooLate(ctx)
	}
	return b.repairAll(ctx, dead)
}

// awaitPast returns when all processes that run know of the last loss that was accepted.
// The list of journals may have been lost: until then, lines of theirs may be in none
// that it names.
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

// others returns what a process is called that lives and lacks an index of the model, or "",
// and the names of those that do and are dead.
func (b *building) others(ctx context.Context) (living string, dead []string, err error) {
	all, err := journal.Others(ctx, b.db.store, b.db.journal.IsOwn, nil)
	if err != nil {
		return "", nil, err
	}
	for _, other := range all {
		// Of one whose head is damaged it is not known what it lacks.
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

// repairAll repairs the lines of the model in the journals of processes. After that a
// record that one of them was about to make is fenced.
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
