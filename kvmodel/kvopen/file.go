package kvopen

import (
	"context"
	"io"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
)

// For programs that name their store only by its URL. See package boltkv.

func VerifyBackup(ctx context.Context, r io.Reader) (boltkv.Snapshot, error) {
	return boltkv.VerifyBackup(ctx, r)
}

func RestoreBackup(ctx context.Context, r io.Reader, path string) (boltkv.Snapshot, error) {
	return boltkv.RestoreBackup(ctx, r, path)
}

func RestoreShipped(ctx context.Context, dir string, until time.Time, path string) (boltkv.Restored, error) {
	return boltkv.Restore(ctx, boltkv.Dir(dir), until, path)
}

func Compact(path string) (boltkv.Compaction, error) { return boltkv.Compact(path) }
