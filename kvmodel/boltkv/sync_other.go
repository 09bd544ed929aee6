//go:build !linux

package boltkv

import "os"

// syncData syncs what f holds.
func syncData(f *os.File) error { return f.Sync() }
