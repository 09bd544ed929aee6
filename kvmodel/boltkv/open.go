package boltkv

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"github.com/ringtree/ringtree/internal/durable"
)

var (
	metaBucket   = []byte("ringtree")
	itemsBucket  = []byte("items")
	expiryBucket = []byte("expiry")

	formatKey = []byte("format")
	idKey     = []byte("id")
	stateKey  = []byte("state")

	formatMark = []byte("4")
)

const lockWait = 700 * time.Millisecond

const smallest = 2 * 4096

// Open opens the store at path. It creates the file and its directory if necessary, accessible only
// to this user. It returns ErrInUse within a second if the file is open already, ErrDamaged if it
// is not a store, or the system's error.
func Open(path string, opts Options) (*Store, error) {
	s, err := openWith(path, opts, nil)
	if err != nil {
		return nil, fmt.Errorf("boltkv: open %s: %w", path, plainer(path, err))
	}
	return s, nil
}

func openWith(path string, opts Options, change func(*Store)) (*Store, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Durability < Synced || opts.Durability > Unsynced {
		return nil, fmt.Errorf("unknown durability %v", opts.Durability)
	}
	db, file, err := openFile(path)
	if err != nil {
		return nil, err
	}
	s := newStore(db, path, opts)
	s.file = file
	if change != nil {
		change(s)
	}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(err, s.closeFiles())
	}
	go s.commitBatches()
	go s.moveTables()
	if opts.Durability != Unsynced {
		s.beside.Go(s.syncPeriodically)
	}
	s.beside.Go(s.readAhead)
	return s, nil
}

func newStore(db *bolt.DB, path string, opts Options) *Store {
	s := &Store{
		db:         db,
		path:       path,
		opts:       opts,
		disk:       osDisk{},
		limits:     defaultLimits,
		cache:      newCache(opts.Cache),
		turn:       make(chan *batch),
		back:       make(chan struct{}),
		closing:    make(chan struct{}),
		stopped:    make(chan struct{}),
		changes:    make(map[string][]byte),
		filling:    newTable(0),
		attempt:    make(chan struct{}),
		woken:      make(chan struct{}, 1),
		moverEnded: make(chan struct{}),
		halted:     make(chan struct{}),
		shipping:   make(chan struct{}, 1),
		commitTree: (*bolt.Tx).Commit,
		beginRead:  func() (*bolt.Tx, error) { return db.Begin(false) },
	}
	s.close = s.closer()
	return s
}

func openFile(path string) (*bolt.DB, *os.File, error) {
	if path == "" {
		return nil, nil, errors.New("the path is empty")
	}
	if err := makeDir(filepath.Dir(path)); err != nil {
		return nil, nil, err
	}
	for {
		if err := checkWhole(path); err != nil {
			return nil, nil, err
		}
		db, file, same, err := openLocked(path)
		if err != nil || same {
			return db, file, err
		}
		// A compacted file has replaced this one meanwhile.
		if err := db.Close(); err != nil {
			return nil, nil, err
		}
	}
}

// checkWhole rejects a file that would block Open, since it is not regular, or make bbolt fault,
// since it is truncated.
func checkWhole(path string) error {
	info, err := os.Stat(path)
	if isMissing(err) {
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
	err = db.View(func(tx *bolt.Tx) error {
		if info.Size() < tx.Size() {
			return fmt.Errorf("%w: cut off after %d of %d bytes", ErrDamaged, info.Size(), tx.Size())
		}
		return nil
	})
	return errors.Join(err, db.Close())
}

// openLocked also reports whether path still refers to the locked file.
func openLocked(path string) (db *bolt.DB, file *os.File, same bool, err error) {
	// If the file is damaged, bbolt may misread its freelist and panic.
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}()
	var opened fs.FileInfo
	db, err = bolt.Open(path, 0o600, &bolt.Options{
		Timeout:      lockWait,
		FreelistType: bolt.FreelistMapType,
		// Statistics would cost every reader a lock.
		NoStatistics: true,
		// NoFreelistSync would make each open read the whole file. A larger InitialMmapSize would
		// be the size of a new file.
		OpenFile: func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
			if f, err = os.OpenFile(name, flag, mode); err == nil {
				file = f
				opened, err = f.Stat()
			}
			return f, err
		},
	})
	if err != nil {
		return nil, nil, false, err
	}
	there, err := os.Stat(path)
	return db, file, err == nil && os.SameFile(opened, there), nil
}

func (s *Store) prepare() error {
	st, err := s.readState()
	if err != nil {
		return err
	}
	s.version, s.lastTime = st.version, st.time
	if err := s.recover(st); err != nil {
		return err
	}
	s.seen = s.log.Bytes()
	// Versions lost in a crash of the machine must not be assigned again.
	s.version = max(s.version, uint64(time.Now().UnixNano()))
	return nil
}

func (s *Store) readState() (st state, err error) {
	fail := s.try(func() error {
		fresh := false
		err := s.db.View(func(tx *bolt.Tx) error {
			first, _ := tx.Cursor().First()
			if fresh = first == nil; fresh {
				return s.alone()
			}
			err := isOurs(tx)
			if err == nil {
				copy(s.id[:], tx.Bucket(metaBucket).Get(idKey))
				st, err = stateOf(tx)
			}
			return err
		})
		if err == nil && fresh {
			st, err = s.format()
		}
		return err
	})
	if fail != nil {
		return st, fail.cause
	}
	return st, nil
}

func (s *Store) alone() error {
	for epoch := range uint64(2) {
		if _, err := os.Lstat(s.logPath(epoch)); err == nil {
			return fmt.Errorf("%w: the file is missing, but its log %s exists: restore the file, or remove its logs to begin a new one", ErrDamaged, s.logPath(epoch))
		}
	}
	return nil
}

func isOurs(tx *bolt.Tx) error {
	meta, items := tx.Bucket(metaBucket), tx.Bucket(itemsBucket)
	if meta == nil || items == nil || tx.Bucket(expiryBucket) == nil {
		return fmt.Errorf("%w: it is a bolt file of another program", ErrDamaged)
	}
	if mark := meta.Get(formatKey); string(mark) != string(formatMark) {
		return fmt.Errorf("%w: its format is %.20q, this program reads %q", ErrDamaged, mark, formatMark)
	}
	return nil
}

// format formats a new file. After a crash halfway it is still new.
func (s *Store) format() (st state, err error) {
	err = s.db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{itemsBucket, expiryBucket, metaBucket} {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		_, _ = rand.Read(s.id[:])
		meta := tx.Bucket(metaBucket)
		return errors.Join(meta.Put(idKey, s.id[:]), meta.Put(stateKey, st.encode()), meta.Put(formatKey, formatMark))
	})
	if err != nil {
		return st, err
	}
	return st, durable.SyncDir(filepath.Dir(s.path))
}

func makeDir(dir string) error {
	if _, err := os.Stat(dir); !isMissing(err) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return durable.SyncDir(parent)
}

// plainer translates bbolt's errors, and removes the path, which the caller adds.
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

const (
	aheadMost   = 1 << 30
	aheadAtOnce = 128 << 10 // per read
)

// readAhead has the system cache the file. It uses bbolt's locked descriptor: closing another one
// could release the lock.
func (s *Store) readAhead() {
	room := make([]byte, aheadAtOnce)
	for at := 0; at < aheadMost; at += len(room) {
		select {
		case <-s.closing:
			return
		default:
		}
		if _, err := s.file.ReadAt(room, int64(at)); err != nil {
			return
		}
	}
}
