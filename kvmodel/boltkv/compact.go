package boltkv

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bolt "go.etcd.io/bbolt"
)

// Compaction is the size of the file in bytes before and after Compact.
type Compaction struct{ Before, After int64 }

const compactTx = 1 << 20

// Compact rewrites the store at path without its unused space, and needs as much free disk space as
// the file takes. It returns ErrInUse if a process has the store open. After an error the file is
// unchanged. A crash leaves the old or the new file, and perhaps path.compact, which the next
// Compact overwrites.
func Compact(path string) (Compaction, error) {
	done, err := compact(path)
	if err != nil {
		return Compaction{}, fmt.Errorf("boltkv: compact %s: %w", path, plainer(path, err))
	}
	return done, nil
}

func compact(path string) (done Compaction, err error) {
	path, err = filepath.EvalSymlinks(path)
	if err != nil {
		return done, err
	}
	s, err := openWith(path, Options{}, nil)
	if err != nil {
		return done, err
	}
	s.last = func() { done, err = s.compacted() }
	closed := s.Close()
	return done, cmp.Or(err, closed)
}

func (s *Store) compacted() (done Compaction, err error) {
	before, err := os.Stat(s.path)
	if err != nil {
		return done, err
	}
	err = makeFile(s.path, s.path+".compact", func(path string) error {
		if err := s.copyTo(path); err != nil {
			return err
		}
		after, err := os.Stat(path)
		if err != nil {
			return err
		}
		done = Compaction{before.Size(), after.Size()}
		return errors.Join(os.Chmod(path, before.Mode().Perm()), keepOwner(path, before))
	})
	return done, err
}

func (s *Store) copyTo(path string) (err error) {
	to, err := bolt.Open(path, 0o600, &bolt.Options{Timeout: lockWait, NoSync: true, FreelistType: bolt.FreelistMapType})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	if broken := onPage(func() { err = bolt.Compact(to, s.db, compactTx) }); broken != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, broken)
	}
	trim(path, to)
	return cmp.Or(err, to.Sync())
}
