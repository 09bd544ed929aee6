// Package durable gives files names that a crash of the machine does not take back: a file
// that was synced is still lost if the entry of its directory is not on the disk.
package durable

import (
	"os"
	"path/filepath"
)

// Rename renames a file, and returns when its new name is on the disk.
func Rename(from, to string) error { return named(os.Rename, from, to) }

// Link gives a file a second name, and returns when that is on the disk. It returns an
// fs.ErrExist if there is a file of that name.
func Link(from, to string) error { return named(os.Link, from, to) }

func named(give func(from, to string) error, from, to string) error {
	if err := give(from, to); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(to))
}
