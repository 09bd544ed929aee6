package kvopen

import (
	"context"
	"io"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
)

// For programs that name their store only by its URL. See package boltkv.

// VerifyBackup reads a backup of a bolt store, and returns an error if it is incomplete.
func VerifyBackup(ctx context.Context, r io.Reader) (boltkv.Snapshot, error) {
	return boltkv.VerifyBackup(ctx, r)
}

// RestoreBackup creates a file at path from a backup. There must not be one yet.
func RestoreBackup(ctx context.Context, r io.Reader, path string) (boltkv.Snapshot, error) {
	return boltkv.RestoreBackup(ctx, r, path)
}

// RestoreShipped creates a file at path from the directory dir, filled by shipping, as of the
// moment until; zero is the latest.
func RestoreShipped(ctx context.Context, dir string, until time.Time, path string) (boltkv.Restored, error) {
	return boltkv.Restore(ctx, boltkv.Dir(dir), until, path)
}

// Compact rewrites the file at path without its unused space. No process may have it open.
func Compact(path string) (boltkv.Compaction, error) { return boltkv.Compact(path) }
