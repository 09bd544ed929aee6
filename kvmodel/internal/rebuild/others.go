package rebuild

import (
	"context"
	"fmt"
	"slices"

	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/work"
	"github.com/ringtree/ringtree/kvmodel/internal/core"
	"github.com/ringtree/ringtree/kvmodel/internal/journal"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// awaitOthers returns when no live process writes the model without one of its indexes, or an
// ErrNeedsRebuild that names one. If it finds dead ones, b is fencing, because requests may be in
// flight.
func (b *building) awaitOthers(ctx context.Context) error {
	if b.Db.Alone {
		return nil // no other process has the store
	}
	if err := b.awaitPast(ctx); err != nil {
		return err
	}
	living, dead, err := b.Db.AwaitEnd(ctx, b.Lacks)
	if err != nil {
		return err
	}
	if living != "" {
		return fmt.Errorf("%w, but process %s writes %s with other indexes: end it first", plug.ErrNeedsRebuild, living, b.Name)
	}
	if b.fencing = len(dead) > 0; !b.fencing {
		return nil
	}
	// A process that checked the built item just before may have sent a change.
	if wait := core.GoodFor - b.Db.Now().Sub(b.named); wait > 0 && !kv.Sleep(ctx, wait) {
		return kv.TooLate(ctx)
	}
	return b.repairAll(ctx, dead)
}

// awaitPast returns when all processes know of the last accepted loss.
func (b *building) awaitPast(ctx context.Context) error {
	number, _ := kv.EditionOf(b.Db.Losses)
	if number <= 1 || number == b.past || !b.isWhole() || len(b.missing()) == 0 {
		return nil
	}
	if !kv.Sleep(ctx, core.GoodFor) {
		return kv.TooLate(ctx)
	}
	b.past = number
	return nil
}

func (b *building) repairAll(ctx context.Context, processes []string) error {
	for _, process := range processes {
		j, err := journal.Read(ctx, b.Db.Store, process)
		if err != nil {
			return err
		}
		lines := slices.DeleteFunc(j.Lines, func(l journal.Line) bool { return l.Model != b.Name })
		for batch := range slices.Chunk(journal.Merge(lines), core.RecordsAtOnce) {
			errs := kv.Each(ctx, b.Db.Store, batch, func(s kv.Store, _ int, l journal.Line) error { return b.RepairLine(ctx, s, l) })
			if err := work.FirstError(errs...); err != nil && !work.Waits(err) {
				return err
			}
		}
	}
	return nil
}
