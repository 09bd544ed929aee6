package boltkv

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/archive"
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

// Restore makes a store at path of what Follow has shipped to the folder, as it was at a
// moment; the zero moment is the last there is. There must be nothing at path, and after an
// error there is nothing. The folder stays as it is, and cannot be used for the new store.
//
// A piece that is missing, and one that is damaged, is an ErrDamaged that names it.
func Restore(ctx context.Context, from Folder, until time.Time, path string) (Restored, error) {
	var done Restored
	err := build(path, func(s *Store) (err error) {
		done, err = s.fillUntil(ctx, &archive.Archive{Folder: from}, until)
		return err
	})
	if err != nil {
		return Restored{}, fmt.Errorf("boltkv: restore %s: %w", path, plainer(path, archived(err)))
	}
	return done, nil
}

// archived returns err as an ErrDamaged of this package if it is one of the archive.
func archived(err error) error {
	var gap *archive.GapError
	if errors.Is(err, archive.ErrDamaged) || errors.As(err, &gap) {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

// errUntil: the commit was made later than what is asked for.
var errUntil = errors.New("later")

func (s *Store) fillUntil(ctx context.Context, from *archive.Archive, until time.Time) (done Restored, err error) {
	terms, err := from.Terms(ctx)
	if err != nil {
		return done, err
	}
	if len(terms) == 0 {
		return done, errNothing
	}
	b := s.builder()
	if done.Snapshot, err = b.fromSnapshot(ctx, from, terms, until); err != nil {
		return done, err
	}
	head, err := from.Head(ctx, archive.Current(terms))
	if err != nil && !isMissing(err) {
		return done, err
	}
	done.Known = head.At
	last := b.time
	err = from.Commits(ctx, terms, head, b.seq, func(r commitlog.Record) error {
		if !until.IsZero() && r.Time > until.UnixNano() {
			return errUntil
		}
		if len(r.Body) > 0 {
			done.Commits, last = done.Commits+1, r.Time
		}
		return b.add(r)
	})
	if errors.Is(err, errUntil) || !until.IsZero() && until.Before(done.Known) {
		done.Known = until
	}
	if err != nil && !errors.Is(err, errUntil) {
		return done, err
	}
	done.Last = time.Unix(0, last)
	b.seq = 0 // The new store begins to count again.
	return done, b.end()
}

var errNothing = errors.New("nothing was shipped to the folder yet")

// fromSnapshot fills b with the newest snapshot that was taken by a moment; the zero moment
// is now.
func (b *builder) fromSnapshot(ctx context.Context, from *archive.Archive, terms []archive.Term, until time.Time) (time.Time, error) {
	all, err := from.Snapshots(ctx, terms)
	if err != nil {
		return time.Time{}, err
	}
	n := len(all)
	for n > 0 && !until.IsZero() && all[n-1].Taken.After(until) {
		n--
	}
	switch {
	case len(all) == 0:
		return time.Time{}, errors.New("the folder has no snapshot yet")
	case n == 0:
		return time.Time{}, fmt.Errorf("the folder's oldest snapshot is of %s, none is from before %s", moment(all[0].Taken.UnixNano()), moment(until.UnixNano()))
	}
	chosen := all[n-1]
	object, err := from.OpenSnapshot(ctx, chosen)
	if err != nil {
		return chosen.Taken, err
	}
	defer object.Close()
	if _, err := readBackup(ctx, object, b.add); err != nil {
		return chosen.Taken, fmt.Errorf("%s: %w", chosen.Items, err)
	}
	return chosen.Taken, nil
}
