package boltkv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/internal/durable"
)

// Compaction is what Compact did: bytes of the file before and after.
type Compaction struct{ Before, After int64 }

// compactTx is how many bytes a transaction of the copy holds. It bounds the
// memory that Compact takes.
const compactTx = 1 << 20

// Compact rewrites the store at path without its unused space: it writes a copy
// to path.compact and then renames that to path. A crash leaves either the old
// file or the new one, and perhaps path.compact, which the next Compact
// overwrites. Versions that callers hold stay valid.
//
// If a process has the store open, Compact returns ErrInUse. A process that
// opens the store while Compact runs gets ErrInUse, or the new file. Compact
// needs as much free disk space as the file takes, at most. Other errors are
// those of Open. After any error the file at path is as it was.
func Compact(path string) (Compaction, error) {
	done, err := compact(path)
	if err != nil {
		return Compaction{}, fmt.Errorf("boltkv: compact %s: %w", path, plainer(path, err))
	}
	return done, nil
}

func compact(path string) (done Compaction, err error) {
	// A link stays a link: the file it points to is replaced.
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return done, err
	}
	// What its log holds belongs into the copy.
	if err := emptyLog(path); err != nil {
		return done, err
	}
	src, _, err := openFile(path)
	if err != nil {
		return done, err
	}
	// The lock is held until the new file is in place.
	defer func() { err = errors.Join(err, src.Close()) }()
	before, err := os.Stat(path)
	if err != nil {
		return done, err
	}
	after, err := writeCompacted(src, path+".compact", before)
	if err != nil {
		return done, err
	}
	return Compaction{before.Size(), after.Size()}, durable.Rename(path+".compact", path)
}

// writeCompacted copies src to a synced file at path, with the mode and owner
// of original. If it fails, it leaves nothing behind.
func writeCompacted(src *bolt.DB, path string, original fs.FileInfo) (info fs.FileInfo, err error) {
	if err := os.Remove(path); err != nil && !isMissing(err) {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(path)
		}
	}()
	if err := copyItems(src, path); err != nil {
		return nil, err
	}
	if err := os.Chmod(path, original.Mode().Perm()); err != nil {
		return nil, err
	}
	if err := keepOwner(path, original); err != nil {
		return nil, err
	}
	return os.Stat(path)
}

func copyItems(src *bolt.DB, path string) (err error) {
	dst, err := bolt.Open(path, 0o600, &bolt.Options{
		Timeout:      lockWait,
		NoSync:       true,
		FreelistType: bolt.FreelistMapType,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}()
	if err := src.View(isClosed); err != nil {
		return err
	}
	if err := bolt.Compact(dst, src, compactTx); err != nil {
		return err
	}
	return dst.Sync()
}

// isClosed returns nil if the file is one of ours, and has no log.
func isClosed(tx *bolt.Tx) error {
	if err := isOurs(tx); err != nil {
		return err
	}
	st, err := stateOf(tx)
	if err == nil && st.open {
		err = ErrInUse
	}
	return err
}

// emptyLog makes sure that the file at path has no log.
func emptyLog(path string) error {
	s, err := openWith(path, Options{}, nil)
	if err != nil {
		return err
	}
	return s.Close()
}
