package boltkv

import (
	"os"

	"github.com/ringtree/ringtree/internal/durable"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// disk is where the logs are. Tests have one that forgets what was not synced.
type disk interface {
	// open opens the file at path, and makes it if there is none and it may.
	open(path string, makes bool) (commitlog.File, error)
	remove(path string) error

	// syncDir returns when the names that files were made with are on the disk.
	// The file of one that was removed may come back all the same.
	syncDir(dir string) error
}

// osDisk is that of the operating system.
type osDisk struct{}

func (osDisk) open(path string, makes bool) (commitlog.File, error) {
	flag := os.O_RDWR
	if makes {
		flag |= os.O_CREATE
	}
	file, err := os.OpenFile(path, flag, 0o600)
	if err != nil {
		return nil, err
	}
	return logFile{file}, nil
}

func (osDisk) remove(path string) error { return os.Remove(path) }

func (osDisk) syncDir(dir string) error { return durable.SyncDir(dir) }

// logFile is a file of the operating system.
type logFile struct{ *os.File }

func (f logFile) Sync() error { return syncData(f.File) }

func (f logFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
