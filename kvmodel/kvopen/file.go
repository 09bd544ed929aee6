package kvopen

import (
	"context"
	"io"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
)

// What is done with the files of bolt stores besides opening them, for programs that name
// their store by its URL alone. Package boltkv says the rest of each.

// VerifyBackup reads a backup of a bolt store, and returns an error if it is not whole.
func VerifyBackup(ctx context.Context, r io.Reader) (boltkv.Snapshot, error) {
	return boltkv.VerifyBackup(ctx, r)
}

// RestoreBackup makes a file at path of a backup. There must be none yet.
func RestoreBackup(ctx context.Context, r io.Reader, path string) (boltkv.Snapshot, error) {
	return boltkv.RestoreBackup(ctx, r, path)
}

// RestoreShipped makes a file at path of what was shipped to the directory dir, as it was at
// the moment until; zero is the last there is.
func RestoreShipped(ctx context.Context, dir string, until time.Time, path string) (boltkv.Restored, error) {
	return boltkv.Restore(ctx, boltkv.Dir(dir), until, path)
}

// Compact rewrites the file at path without its unused space. No process may have it open.
func Compact(path string) (boltkv.Compaction, error) { return boltkv.Compact(path) }
