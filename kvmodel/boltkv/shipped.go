package boltkv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// Restored says what Restore has made.
type Restored struct {
	Snapshot time.Time // when the snapshot was taken that was read
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
	var done Restored
	err := build(path, func(s *Store) (err error) {
		done, err = s.fillUntil(ctx, &history{Folder: from}, until)
		return err
	})
	if err != nil {
		return Restored{}, fmt.Errorf("boltkv: restore %s: %w", path, plainer(path, err))
	}
	return done, nil
}

// errUntil: the commit was made later than what is asked for.
var errUntil = errors.New("later")

// restoring is a store on its way from a folder.
type restoring struct {
	*builder
	from  *history
	until time.Time
	last  uint64 // up to this record it has all commits
	done  Restored
}

func (s *Store) fillUntil(ctx context.Context, from *history, until time.Time) (Restored, error) {
	r := &restoring{builder: s.builder(), from: from, until: until}
	chosen, err := r.fromSnapshot(ctx, from, until)
	if err != nil {
		return Restored{}, err
	}
	r.last = chosen.last
	r.done = Restored{Snapshot: chosen.taken, Known: chosen.taken, Last: time.Unix(0, r.time)}
	if err := r.readPieces(ctx); err != nil {
		return Restored{}, err
	}
	if !until.IsZero() && until.Before(r.done.Known) {
		r.done.Known = until
	}
	r.seq = 0 // The new store begins to count again.
	return r.done, r.end()
}

// readPieces reads the commits since the snapshot, up to the moment that was asked for.
func (r *restoring) readPieces(ctx context.Context) error {
	pieces, err := r.from.numbers(ctx, pieceBegin)
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
	end, err := r.from.each(ctx, numbered(pieceBegin, first), first, func(c commitlog.Record) error {
		switch {
		case c.Seq <= r.last:
			return nil
		case !r.until.IsZero() && c.Time > r.until.UnixNano():
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

// fromSnapshot fills b with the newest snapshot that was taken by a moment; the zero moment
// is now.
func (b *builder) fromSnapshot(ctx context.Context, from *history, until time.Time) (chosen shippedSnapshot, err error) {
	all, err := from.snapshots(ctx)
	if err != nil {
		return chosen, err
	}
	n := len(all)
	for n > 0 && !until.IsZero() && all[n-1].taken.After(until) {
		n--
	}
	switch {
	case len(all) == 0:
		return chosen, errors.New("the folder has no snapshot yet")
	case n == 0:
		return chosen, fmt.Errorf("the folder's oldest snapshot is of %s, none is from before %s", moment(all[0].taken.UnixNano()), moment(until.UnixNano()))
	}
	chosen = all[n-1]
	object, err := from.Get(ctx, chosen.items)
	if isMissing(err) {
		err = fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	if err != nil {
		return chosen, err
	}
	defer object.Close()
	if _, err := readBackup(ctx, object, b.add); err != nil {
		return chosen, fmt.Errorf("%s: %w", chosen.items, err)
	}
	return chosen, nil
}
