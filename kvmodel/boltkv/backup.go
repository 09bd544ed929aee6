package boltkv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// A backup is the items of the tree, read while commits continue, and then all commits since its
// beginning. These have the final values of their keys.

// Snapshot describes a backup.
type Snapshot struct {
	Taken   time.Time // the backup is the store at this time
	Items   uint64
	Commits uint64 // made during the backup or shortly before
	Damaged uint64 // already before the backup
}

// Backup writes the state of the store at a moment near its end, for RestoreBackup and
// VerifyBackup. Reads and writes continue. It fails if a page of the file is unreadable, or if the
// logs it retains exceed 1 GB.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	h := s.hold(ctx)
	defer h.release()
	if err := h.backup(w); err != nil {
		return fmt.Errorf("boltkv: back up %s: %w", s.path, cmp.Or(s.refused(), err))
	}
	return nil
}

func (h *hold) backup(w io.Writer) error {
	to, err := commitlog.NewWriter(w, commitlog.Header{Store: h.id})
	if err == nil {
		err = h.writeItems(to)
	}
	if err == nil {
		err = h.writeCommits(to)
	}
	if err != nil && h.ctx.Err() != nil {
		err = context.Cause(h.ctx)
	}
	return err
}

func (h *hold) writeItems(to *commitlog.Writer) error {
	for from := []byte{}; from != nil; {
		if err := errors.Join(h.ctx.Err(), h.refused()); err != nil {
			return err
		}
		r := commitlog.Record{Items: true}
		fail := h.view(func(t *tree) {
			from = t.eachBlock(from, h.limits.copied, func(first, buf []byte) { r.Body = encodeChange(r.Body, first, buf) })
		})
		if fail != nil {
			return fail
		}
		if err := to.Write(r); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) refused() error {
	if fail := s.failed.Load(); fail != nil {
		return fail
	}
	return nil
}

func (h *hold) writeCommits(to *commitlog.Writer) error {
	all, last, err := h.commits()
	if err != nil {
		return err
	}
	for c, err := range all {
		if err := cmp.Or(err, h.ctx.Err()); err != nil {
			return err
		}
		if err := to.Write(c.Record); err != nil {
			return err
		}
	}
	return to.Write(commitlog.Record{Seq: last.seq, Time: last.time, Version: last.version, End: true})
}
