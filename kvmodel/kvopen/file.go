package kvopen

import (
	"context"
	"io"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
)

// VerifyBackup is [boltkv.VerifyBackup].
func VerifyBackup(ctx context.Context, r io.Reader) (boltkv.Snapshot, error) {
	return boltkv.VerifyBackup(ctx, r)
}

// RestoreBackup is [boltkv.RestoreBackup].
func RestoreBackup(ctx context.Context, r io.Reader, path string) (boltkv.Snapshot, error) {
	return boltkv.RestoreBackup(ctx, r, path)
}

// RestoreShipped is [boltkv.Restore] from a directory.
func RestoreShipped(ctx context.Context, dir string, until time.Time, path string) (boltkv.Restored, error) {
	return boltkv.Restore(ctx, boltkv.Dir(dir), until, path)
}

// Compact is [boltkv.Compact].
func Compact(path string) (boltkv.Compaction, error) { return boltkv.Compact(path) }
