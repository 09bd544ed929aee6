package boltkv

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// The file holds three buckets. A file with others belongs to another program.
var (
	metaBucket   = []byte("ringtree") // formatKey: formatMark
	itemsBucket  = []byte("items")    // its sequence: the last version given
	expiryBucket = []byte("expiry")

	formatKey  = []byte("format")
	formatMark = []byte("1")
)

// lockWait is how long Open waits for another process to close the file, as
// happens when a program is restarted.
const lockWait = 700 * time.Millisecond

// smallest is the size of bbolt's two headers, which every file has.
const smallest = 2 * 4096

// Open opens the store in the file at path. If there is no file, it creates the
// file, and its directory if need be, accessible to this user only.
//
// It returns ErrInUse within a second if another process has the file open,
// ErrDamaged if the file is not a store, and the system's error if the file or
// its directory cannot be used, all wrapped with the path.
func Open(path string, opts Options) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	db, err := openFile(path, opts.Durability)
	if err != nil {
		return nil, fmt.Errorf("boltkv: open %s: %w", path, plainer(path, err))
	}
	s := &Store{
		db:      db,
		path:    path,
		opts:    opts,
		turn:    make(chan *batch),
		back:    make(chan struct{}),
		closing: make(chan struct{}),
		stopped: make(chan struct{}),
		commit:  (*bolt.Tx).Commit,
	}
	s.close = s.closer()
	if err := s.prepare(); err != nil {
		close(s.stopped)
		_ = s.Close()
		return nil, fmt.Errorf("boltkv: open %s: %w", path, plainer(path, err))
	}
	go s.commitBatches()
	return s, nil
}

// openFile opens the file, or creates it, and locks it.
func openFile(path string, durability Durability) (*bolt.DB, error) {
	if path == "" {
		return nil, errors.New("the path is empty")
	}
	if durability < Synced || durability > Unsynced {
		return nil, fmt.Errorf("unknown durability %v", durability)
	}
	if err := makeDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	for {
		if err := checkWhole(path); err != nil {
			return nil, err
		}
		db, same, err := openLocked(path, durability)
		if err != nil || same {
			return db, err
		}
		// A compacted file replaced this one while we waited for its lock.
		if err := db.Close(); err != nil {
			return nil, err
		}
	}
}

// checkWhole returns an ErrDamaged if what is at path is not a regular file, on
// which opening could block, or is a truncated one, on which bbolt would fault.
func checkWhole(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: not a regular file but %v", ErrDamaged, info.Mode())
	}
	if info.Size() == 0 {
		return nil
	}
	if info.Size() < smallest {
		return fmt.Errorf("%w: it has only %d bytes", ErrDamaged, info.Size())
	}
	db, err := bolt.Open(path, 0, &bolt.Options{ReadOnly: true, Timeout: lockWait})
	if err != nil {
		return err
	}
	var want int64
	err = db.View(func(tx *bolt.Tx) error { want = tx.Size(); return nil })
	if err == nil && info.Size() < want {
		err = fmt.Errorf("%w: cut off after %d of %d bytes", ErrDamaged, info.Size(), want)
	}
	return errors.Join(err, db.Close())
}

// openLocked opens and locks the file, and reports whether it is then still the
// one at path.
func openLocked(path string, durability Durability) (db *bolt.DB, same bool, err error) {
	// In a damaged file, bbolt may find something other than its freelist.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}()
	var opened fs.FileInfo
	db, err = bolt.Open(path, 0o600, &bolt.Options{
		Timeout: lockWait,
		NoSync:  durability != Synced,
		// The map finds free space in constant time, however much there is.
		FreelistType: bolt.FreelistMapType,
		// Statistics would cost every reader a lock.
		NoStatistics: true,
		// The freelist stays synced: without it, opening would read the whole
		// file. The memory map starts small: a large one would make a new file
		// large, and reads are too short to keep it from growing.
		OpenFile: func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
			if f, err = os.OpenFile(name, flag, mode); err == nil {
				opened, err = f.Stat()
			}
			return f, err
		},
	})
	if err != nil {
		return nil, false, err
	}
	there, err := os.Stat(path)
	return db, err == nil && os.SameFile(opened, there), nil
}

// prepare checks that the file is ours, or formats it if it is new.
func (s *Store) prepare() error {
	fresh := false
	var err error
	fail := s.guard(func() {
		err = s.db.View(func(tx *bolt.Tx) error {
			first, _ := tx.Cursor().First()
			fresh = first == nil
			if fresh {
				return nil
			}
			s.version, err = check(tx)
			return err
		})
		if err == nil && fresh {
			err = s.format()
		}
	})
	if fail != nil {
		return fail.cause
	}
	// A crash of the machine may have undone unsynced writes. Versions start from
	// the current time, so those of the lost writes are not given again.
	s.version = max(s.version, uint64(time.Now().UnixNano()))
	return err
}

// check returns the last version given in a file of ours, or an ErrDamaged if
// it is not ours.
func check(tx *bolt.Tx) (version uint64, err error) {
	meta, items := tx.Bucket(metaBucket), tx.Bucket(itemsBucket)
	if meta == nil || items == nil || tx.Bucket(expiryBucket) == nil {
		return 0, fmt.Errorf("%w: it is a bolt file of another program", ErrDamaged)
	}
	if mark := meta.Get(formatKey); string(mark) != string(formatMark) {
		return 0, fmt.Errorf("%w: its format is %.20q, this program reads %q", ErrDamaged, mark, formatMark)
	}
	return items.Sequence(), nil
}

// format makes a new file ours. After a crash halfway the file is still new.
func (s *Store) format() error {
	err := s.db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{itemsBucket, expiryBucket, metaBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		return tx.Bucket(metaBucket).Put(formatKey, formatMark)
	})
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(s.path))
}

// makeDir makes sure that dir exists, even after a crash.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(parent)
}

// plainer returns err, about the file at path, in this package's words if it is
// bbolt's, and without the path, which the caller adds.
func plainer(path string, err error) error {
	var onPath *fs.PathError
	switch {
	case errors.Is(err, bolterrors.ErrTimeout):
		return ErrInUse
	case errors.Is(err, bolterrors.ErrInvalid), errors.Is(err, bolterrors.ErrChecksum),
		errors.Is(err, bolterrors.ErrVersionMismatch):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	case errors.As(err, &onPath) && onPath.Path == path:
		return onPath.Err
	}
	return err
}
