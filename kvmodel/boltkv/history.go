package boltkv

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// history is the history of a store in a folder. Its objects are streams of a commitlog, so damage
// is always detected. None is ever replaced:
//
//	owner                identifies the store and its file; written first
//	piece-FIRST          commits from FIRST on; its end has the last number, and the time
//	snapshot-LAST-TIME   a backup begun at TIME, after commit number LAST
//
// A piece continues the one before it, or the commits of a snapshot.
type history struct {
	Folder
	store [16]byte
}

const (
	ownerName     = "owner"
	pieceBegin    = "piece-"
	snapshotBegin = "snapshot-"
)

func pieceName(first uint64) string { return fmt.Sprintf("%s%020d", pieceBegin, first) }

func (h *history) pieces(ctx context.Context) (all []uint64, err error) {
	names, err := h.List(ctx, pieceBegin)
	for _, name := range names {
		var first uint64
		if _, err := fmt.Sscanf(name, pieceBegin+"%d", &first); err == nil && name == pieceName(first) {
			all = append(all, first)
		}
	}
	return all, err
}

func (h *history) put(ctx context.Context, name string, number uint64, records ...commitlog.Record) error {
	var buf bytes.Buffer
	w, err := commitlog.NewWriter(&buf, commitlog.Header{Store: h.store, First: number})
	for _, r := range records {
		err = errors.Join(err, w.Write(r))
	}
	if err != nil {
		return err
	}
	return h.PutNew(ctx, name, bytes.NewReader(buf.Bytes()))
}

func (h *history) each(ctx context.Context, name string, number uint64, f func(commitlog.Record) error) (end commitlog.Record, err error) {
	object, err := h.Get(ctx, name)
	if err != nil {
		return end, err
	}
	defer object.Close()
	r, err := commitlog.NewReader(object)
	if err != nil {
		return end, about(name, err)
	}
	if h.store == [16]byte{} {
		h.store = r.Store
	}
	switch {
	case r.Store != h.store:
		return end, fmt.Errorf("%w: %s is of another store", ErrFolder, name)
	case r.First != number:
		return end, fmt.Errorf("%w: %s has number %d", ErrDamaged, name, r.First)
	}
	end, err = r.Each(func(c commitlog.Record) error { return cmp.Or(ctx.Err(), f(c)) })
	return end, about(name, err)
}

type snapshot struct {
	from  uint64 // it has all commits up to this one, and those made before it ended
	begun time.Time
}

func (sn snapshot) name() string {
	return fmt.Sprintf("%s%020d-%020d", snapshotBegin, sn.from, sn.begun.UnixNano())
}

func (h *history) snapshots(ctx context.Context) (all []snapshot, err error) {
	names, err := h.List(ctx, snapshotBegin)
	for _, name := range names {
		var from uint64
		var begun int64
		if _, err := fmt.Sscanf(strings.TrimPrefix(name, snapshotBegin), "%d-%d", &from, &begun); err != nil {
			continue
		}
		if sn := (snapshot{from, time.Unix(0, begun)}); sn.name() == name {
			all = append(all, sn)
		}
	}
	return all, err
}

const (
	logsFor = 7 * 24 * time.Hour

	snapshotsFor = 30 * 24 * time.Hour
)

// thin deletes snapshots older than thirty days except the newest, and the commits before the
// newest snapshot that is a week old.
func (h *history) thin(ctx context.Context, now time.Time) error {
	snapshots, err := h.snapshots(ctx)
	if err != nil {
		return err
	}
	pieces, err := h.pieces(ctx)
	if err != nil {
		return err
	}
	from := uint64(0)
	var names []string
	for i, sn := range snapshots {
		age := now.Sub(sn.begun)
		if age >= logsFor {
			from = sn.from
		}
		if age > snapshotsFor && i < len(snapshots)-1 {
			names = append(names, sn.name())
		}
	}
	for i := 1; i < len(pieces) && pieces[i] <= from+1; i++ {
		names = append(names, pieceName(pieces[i-1]))
	}
	for _, name := range names {
		if err := h.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

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
