package boltkv

import (
	"os"

	"github.com/ringtree/ringtree/internal/durable"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
)

// disk is the file system of the logs.
type disk interface {
	open(path string, makes bool) (commitlog.File, error)
	remove(path string) error

	// syncDir returns when the names of created files are on disk. A removed file may reappear
	// after a crash.
	syncDir(dir string) error
}

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

type logFile struct{ *os.File }

func (f logFile) Sync() error { return syncData(f.File) }

func (f logFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
