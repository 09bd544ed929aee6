//go:build unix

package boltkv

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// syncDir syncs the entries of dir to disk.
func syncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// keepOwner gives the file at path the owner that info names.
func keepOwner(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return os.Chown(path, int(stat.Uid), int(stat.Gid))
}
