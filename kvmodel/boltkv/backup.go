package boltkv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// A backup is the items of the tree, read a few at a time while commits go on, and then
// all commits that the tree lacked at the beginning, or that came meanwhile. An item holds
// all that its key held, and a commit says what keys held at last, so whatever the first
// part had of a commit, both together are what the store held after the last one.

// Snapshot says what a backup holds.
type Snapshot struct {
	Taken   time.Time // The store is what it was then.
	Items   uint64    // read from the file while the backup was made
	Commits uint64    // made meanwhile, or a little earlier
	Damaged uint64    // items that were damaged already, and still are
}

// Backup writes what the store holds, as it is after the last commit that ends before
// Backup does. Reads and writes go on. RestoreBackup makes a store of it, and VerifyBackup
// reports whether it is whole.
//
// Backup keeps what is written meanwhile in logs on the disk, up to 1 GB: if there is more,
// it returns an error. Items that are damaged stay so; where a page of the file cannot be
// read Backup returns an error.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	h := s.hold()
	defer h.release()
	ctx, stop := h.during(ctx)
	defer stop()
	err := h.backup(ctx, w)
	if fail := s.failed.Load(); err != nil && fail != nil {
		err = fail
	}
	if err != nil {
		return fmt.Errorf("boltkv: back up %s: %w", s.path, err)
	}
	return nil
}

// backup writes a backup. The context ends with h.
func (h *hold) backup(ctx context.Context, w io.Writer) error {
	to, err := commitlog.NewWriter(w, commitlog.Header{Store: h.id, Epoch: h.from.Epoch})
	var known point
	if err == nil {
		known, err = h.writeItems(ctx, to)
	}
	if err == nil {
		err = h.writeCommits(ctx, to, known)
	}
	if err != nil && ctx.Err() != nil { // The logs may have been closed under it.
		err = context.Cause(ctx)
	}
	return err
}

// writeItems writes the items of the tree, and returns up to where the tree then has all
// commits.
func (s *Store) writeItems(ctx context.Context, to *commitlog.Writer) (known point, err error) {
	for from := []byte{}; from != nil; {
		if err := errors.Join(ctx.Err(), s.refused()); err != nil {
			return known, err
		}
		r := commitlog.Record{Items: true}
		if fail := s.view(func(t *tree) { r.Body, from = t.encodeFrom(from) }); fail != nil {
			return known, fail
		}
		if err := to.Write(r); err != nil {
			return known, err
		}
	}
	st, err := s.stateNow()
	return st.point, err
}

// refused returns why nothing can be asked of the store; nil if it can.
func (s *Store) refused() error {
	if fail := s.failed.Load(); fail != nil {
		return fail
	}
	return nil
}

// encodeFrom returns items from from on as the log keeps changes, and where to go on; nil at
// the end.
func (t *tree) encodeFrom(from []byte) (body, next []byte) {
	c := t.items.Cursor()
	for key, buf := c.Seek(from); key != nil; key, buf = c.Next() {
		if len(body) > t.limits.copied {
			return body, bytes.Clone(key)
		}
		body = encodeChange(body, key, buf)
	}
	return body, nil
}

// writeCommits writes the commits since h began, and the end. What is known to be in the
// items is at least what there was at the moment known.
func (h *hold) writeCommits(ctx context.Context, to *commitlog.Writer, known point) error {
	all := h.readers()
	if err := ctx.Err(); err != nil { // They may lack commits.
		return err
	}
	// What a backup has, the store must not lose.
	if fail := h.syncSeen(); fail != nil {
		return fail
	}
	err := eachCommit(all, func(r commitlog.Record, _ commitlog.Mark) error {
		known = point{max(known.seq, r.Seq), max(known.time, r.Time), max(known.version, r.Version)}
		return errors.Join(ctx.Err(), to.Write(r))
	})
	if err != nil {
		return err
	}
	known.time = max(known.time, time.Now().UnixNano())
	return to.Write(commitlog.Record{Seq: known.seq, Time: known.time, Version: known.version, End: true})
}
