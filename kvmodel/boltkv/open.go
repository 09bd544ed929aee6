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

// The file holds three buckets. A file with other ones is somebody else's.
var (
	metaBucket   = []byte("ringtree") // formatKey: formatMark
	itemsBucket  = []byte("items")    // its sequence: the last version given
	expiryBucket = []byte("expiry")

	formatKey  = []byte("format")
	formatMark = []byte("1")
)

// lockWait is how long Open waits for another process to let go of the file,
// as the one before does when a program is started anew.
const lockWait = 700 * time.Millisecond

// smallest is the least size of a file: its two pages that say where all else is.
const smallest = 2 * 4096

// Open opens the store in the file at path. It creates the file if there is
// none, and its directory too, both for this user alone.
//
// It returns ErrInUse within a second if another process has the file open,
// ErrDamaged if the file is not a store, and what the system said where the
// file or its directory cannot be used, all wrapped with the path.
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

// openFile opens the file, which may have to be made, and locks it.
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
		// While we waited for its lock, the file was replaced by a compacted one.
		if err := db.Close(); err != nil {
			return nil, err
		}
	}
}

// checkWhole returns an ErrDamaged if there is something at path but no file,
// which could block, or a file that lacks its end, which to bbolt is a fault of
// memory.
func checkWhole(path string) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%w: not a file but %v", ErrDamaged, info.Mode())
	}
	if info.Size() == 0 {
		return nil
	}
	if info.Size() < smallest {
		return fmt.Errorf("%w: of %d bytes", ErrDamaged, info.Size())
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

// openLocked opens the file, and tells whether it is still the one at path
// after its lock was got.
func openLocked(path string, durability Durability) (db *bolt.DB, same bool, err error) {
	// bbolt's freelist may be another page than it should be.
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
		// The map finds free pages in constant time, however many there are.
		FreelistType: bolt.FreelistMapType,
		// Stats would cost every reader a lock.
		NoStatistics: true,
		// The freelist stays synced: without it, opening would read the whole
		// file. The memory map starts small: a large one makes a new file
		// large, and readers are too short to keep it from growing.
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

// prepare checks that the file is ours, or makes it so if it is new.
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
	// A crash of the machine may have taken back unsynced writes. Starting from
	// the time of day, their versions are not given again.
	s.version = max(s.version, uint64(time.Now().UnixNano()))
	return err
}

// check returns the last version given in a file of ours, and an ErrDamaged
// for another one.
func check(tx *bolt.Tx) (version uint64, err error) {
	meta, items := tx.Bucket(metaBucket), tx.Bucket(itemsBucket)
	if meta == nil || items == nil || tx.Bucket(expiryBucket) == nil {
		return 0, fmt.Errorf("%w: a bolt file of another program", ErrDamaged)
	}
	if mark := meta.Get(formatKey); string(mark) != string(formatMark) {
		return 0, fmt.Errorf("%w: its format is %.20q, this program reads %q", ErrDamaged, mark, formatMark)
	}
	return items.Sequence(), nil
}

// format makes a new file ours. A crash before its end leaves a new file.
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

// makeDir makes sure that dir exists, and will after a crash.
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

// plainer returns err, of the file at path, in this package's words where it is
// bbolt's, and without the path where it has it already: whoever calls adds it.
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
