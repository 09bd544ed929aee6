package boltkv

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// Restored says what Restore has made.
type Restored struct {
	Snapshot time.Time // of when the snapshot is that was read
	Commits  uint64    // read from the logs since
	Last     time.Time // when the last commit was made that is in the new store

	// Known is up to when all commits are in the new store. It is before the moment that
	// was asked for if no more was shipped by then, as when no more was committed.
	Known time.Time
}

// Restore makes a store at path of what Ship has shipped to the folder, as it was at a
// moment; the zero moment is the last there is. There must be nothing at path, and after an
// error there is nothing. The folder stays as it is, and cannot be used for the new store.
//
// A piece that is missing, and one that is damaged, is an ErrDamaged that names it.
func Restore(ctx context.Context, from Folder, until time.Time, path string) (Restored, error) {
	r := &restoring{from: &history{Folder: from}, until: until}
	all, err := r.choices(ctx)
	for len(all) > 0 && err == nil {
		newest := all[len(all)-1]
		err = build(path, func(s *Store) error { return r.fill(ctx, s, newest) })
		all = all[:len(all)-1]
		if len(all) == 0 || !errors.Is(err, errUntil) {
			break
		}
		err = nil // The snapshot was begun by the moment, and ended later: take the one before.
	}
	if err != nil {
		return Restored{}, fmt.Errorf("boltkv: restore %s: %w", path, plainer(path, err))
	}
	return r.done, nil
}

// errUntil: the commit was made later than what is asked for.
var errUntil = errors.New("no snapshot of the folder was whole by then")

// restoring is a store on its way from a folder.
type restoring struct {
	*builder
	from  *history
	until time.Time
	last  uint64 // up to this record it has all commits
	done  Restored
}

// isLater reports whether a moment is later than what is asked for.
func (r *restoring) isLater(at time.Time) bool { return !r.until.IsZero() && at.After(r.until) }

// choices returns the snapshots that were begun by the moment that is asked for, the oldest
// first.
func (r *restoring) choices(ctx context.Context) ([]snapshot, error) {
	all, err := r.from.snapshots(ctx)
	if err == nil && len(all) == 0 {
		err = errors.New("the folder has no snapshot yet")
	}
	if err != nil {
		return nil, err
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(sn snapshot) bool { return r.isLater(sn.begun) })
	if len(chosen) == 0 {
		return nil, fmt.Errorf("the folder's oldest snapshot is of %s, none is from before %s", moment(all[0].begun.UnixNano()), moment(r.until.UnixNano()))
	}
	return chosen, nil
}

// fill fills s with a snapshot and the commits since.
func (r *restoring) fill(ctx context.Context, s *Store, sn snapshot) error {
	r.builder = s.builder()
	if err := r.readSnapshot(ctx, sn.name()); err != nil {
		return err
	}
	if err := r.readPieces(ctx); err != nil {
		return err
	}
	if r.isLater(r.done.Known) {
		r.done.Known = r.until
	}
	r.seq = 0 // The new store begins to count again.
	return r.end()
}

// readSnapshot reads a snapshot, which must have ended by the moment that is asked for.
func (r *restoring) readSnapshot(ctx context.Context, name string) error {
	object, closer, err := r.from.open(ctx, name)
	if err != nil {
		return err
	}
	defer closer.Close()
	var end commitlog.Record
	if _, err := readBackup(ctx, object, func(c commitlog.Record) error { end = c; return r.add(c) }); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	taken := time.Unix(0, end.Time)
	if r.isLater(taken) {
		return fmt.Errorf("%w: %s ended at %s", errUntil, name, moment(end.Time))
	}
	r.last = end.Seq
	r.done = Restored{Snapshot: taken, Known: taken, Last: time.Unix(0, r.time)}
	return nil
}

// readPieces reads the commits since the snapshot, up to the moment that was asked for.
func (r *restoring) readPieces(ctx context.Context) error {
	pieces, err := r.from.pieces(ctx)
	if err != nil {
		return err
	}
	for i, first := range pieces {
		switch {
		case i+1 < len(pieces) && pieces[i+1] <= r.last+1:
			continue
		case !r.until.IsZero() && !r.until.After(r.done.Known):
			return nil
		case first > r.last+1:
			return fmt.Errorf("%w: the commits %d to %d are missing: they were not shipped, or the piece that had them is gone", ErrDamaged, r.last+1, first-1)
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
		case c.Seq <= r.last:
			return nil
		case r.isLater(time.Unix(0, c.Time)):
			return errUntil
		}
		r.done.Commits, r.done.Last = r.done.Commits+1, time.Unix(0, c.Time)
		return r.add(c)
	})
	switch {
	case errors.Is(err, errUntil):
		r.done.Known = r.until
		return nil
	case err != nil:
		return err
	}
	r.last = max(r.last, end.Seq)
	if known := time.Unix(0, end.Time); known.After(r.done.Known) {
		r.done.Known = known
	}
	return nil
}
