//go:build unix

package boltkv

import (
	"io/fs"
	"os"
	"syscall"
)

func keepOwner(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return os.Chown(path, int(stat.Uid), int(stat.Gid))
}
