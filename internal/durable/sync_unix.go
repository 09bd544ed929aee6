//go:build unix

package durable

import (
	"errors"
	"os"
)

// SyncDir returns when the entries of dir are on the disk.
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
