package boltkv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// Restored is the result of Restore.
type Restored struct {
	Snapshot time.Time
	Commits  uint64

	// Known is the time up to which the store has all commits, perhaps before the requested one.
	Known time.Time
}

// Restore creates a store at path from a folder filled by Ship, as of a moment; the zero moment is
// the latest. The path must not exist, and does not after an error. A missing or damaged piece is
// an ErrDamaged that names it. The new store cannot use the folder.
func Restore(ctx context.Context, from Folder, until time.Time, path string) (Restored, error) {
	r := &restoring{from: &history{Folder: from}, until: until}
	all, err := r.from.snapshots(ctx)
	switch {
	case err != nil:
	case len(all) == 0:
		err = errors.New("the folder has no snapshot yet")
	default:
		err = fmt.Errorf("%w: the oldest began at %s", errUntil, moment(all[0].begun.UnixNano()))
	}
	for _, sn := range slices.Backward(all) {
		if r.isLater(sn.begun) {
			continue
		}
		err = build(path, func(b *builder) error { return r.fill(ctx, b, sn) })
		if !errors.Is(err, errUntil) { // The snapshot ended later: take the one before.
			break
		}
	}
	if err != nil {
		return Restored{}, fmt.Errorf("boltkv: restore %s: %w", path, plainer(path, err))
	}
	return r.done, nil
}

var errUntil = errors.New("the folder has no complete snapshot from before that time")

type restoring struct {
	*builder
	from  *history
	until time.Time
	done  Restored
}

func (r *restoring) isLater(at time.Time) bool { return !r.until.IsZero() && at.After(r.until) }

func (r *restoring) fill(ctx context.Context, b *builder, sn snapshot) error {
	r.builder = b
	if err := r.readSnapshot(ctx, sn.name()); err != nil {
		return err
	}
	if err := r.readPieces(ctx); err != nil {
		return err
	}
	if r.isLater(r.done.Known) {
		r.done.Known = r.until
	}
	return nil
}

func (r *restoring) readSnapshot(ctx context.Context, name string) error {
	end, err := r.from.each(ctx, name, 0, r.add)
	if err == nil {
		err = r.add(end)
	}
	taken := time.Unix(0, end.Time)
	if err == nil && r.isLater(taken) {
		err = fmt.Errorf("%w: %s ended at %s", errUntil, name, moment(end.Time))
	}
	r.done = Restored{Snapshot: taken, Known: taken}
	return err
}

func (r *restoring) readPieces(ctx context.Context) error {
	pieces, err := r.from.pieces(ctx)
	if err != nil {
		return err
	}
	for i, first := range pieces {
		switch {
		case i+1 < len(pieces) && pieces[i+1] <= r.seq+1:
			continue
		case !r.until.IsZero() && !r.until.After(r.done.Known):
			return nil
		case first > r.seq+1:
			return fmt.Errorf("%w: the commits %d to %d are missing: they were not shipped, or the piece that had them is gone", ErrDamaged, r.seq+1, first-1)
		}
		if err := r.readPiece(ctx, first); err != nil {
			return err
		}
	}
	return nil
}

func (r *restoring) readPiece(ctx context.Context, first uint64) error {
	end, err := r.from.each(ctx, pieceName(first), first, func(c commitlog.Record) error {
		switch {
		case c.Seq <= r.seq:
			return nil
		case r.isLater(time.Unix(0, c.Time)):
			return errUntil
		}
		r.done.Commits++
		return r.add(c)
	})
	switch {
	case errors.Is(err, errUntil):
		r.done.Known = r.until
		return nil
	case err != nil:
		return err
	}
	if known := time.Unix(0, end.Time); known.After(r.done.Known) {
		r.done.Known = known
	}
	return nil
}
