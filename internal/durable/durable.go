// Package durable makes the names of files survive a crash of the machine: even a synced file is
// lost if its directory entry is not on the disk.
package durable

import (
	"os"
	"path/filepath"
)

// Rename renames a file, and returns when its new name is on the disk.
func Rename(from, to string) error { return named(os.Rename, from, to) }

// Link gives a file a second name, and returns when that is on the disk, or an fs.ErrExist.
func Link(from, to string) error { return named(os.Link, from, to) }

func named(give func(from, to string) error, from, to string) error {
	if err := give(from, to); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(to))
}
