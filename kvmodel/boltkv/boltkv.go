// Package boltkv is the embedded store: one file, no server. It is the default for everything built
// on kvmodel.
//
// Read-only trips run in parallel, each on one snapshot. Writing trips that arrive during a commit
// share the next one. By default a write is on disk before it is answered; see [Durability].
//
// A commit is appended to a log beside the file and later moved, with many others, to the bbolt
// tree in the file. An open or crashed store needs its logs; a closed one has none.
//
//   - One process uses a file at a time; a second one gets [ErrInUse].
//   - A file never shrinks by itself; [Compact] rewrites it.
//   - A damaged item is an ErrCorrupt with its key; others are not affected. All items are read at
//     open and once a day, so that [Stats] reports damage first.
//   - After a commit that may or may not be on disk, the store stops: its writes are unclear, and
//     later ops are unavailable until the file is reopened.
package boltkv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/internal/bloom"
	"github.com/ringtree/ringtree/internal/kept"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var (
	// ErrInUse: the file is already open.
	ErrInUse = errors.New("it is open in another process")

	// ErrDamaged: the file is not a store of this package, or no longer intact.
	ErrDamaged = errors.New("not a ringtree store, or a damaged one")
)

// Options configure a Store. The zero value is the safe choice.
type Options struct {
	Durability Durability

	// Cache is the size in bytes of a cache for gets with [kv.Near]. 0 means 64 MB, negative none.
	Cache int

	// Now is the clock for TTLs. nil means time.Now.
	Now func() time.Time
}

// Store is a kv.Store in a file.
type Store struct {
	db     *bolt.DB
	file   io.ReaderAt
	path   string
	opts   Options
	disk   disk
	limits limits
	id     [16]byte

	turn    chan *batch
	back    chan struct{}
	closing chan struct{}
	stopped chan struct{}
	beside  sync.WaitGroup
	close   func() error
	last    func() // called by Close before the unlock; may be nil

	failed  atomic.Pointer[failure] // why every op is rejected, or nil
	halted  chan struct{}
	writers atomic.Int32
	version uint64 // owned by the holder of the batch

	// Owned by the committer.
	log      *commitlog.Log // of filling
	changes  map[string][]byte
	undo     []undone // for the next batch
	body     []byte
	lastTime int64
	used     time.Time
	durable  atomic.Uint64

	cache *kept.Cache

	mu      sync.RWMutex // guards the fields below; not held during disk access
	filling *table
	moving  *table
	ended   *commitlog.Log
	attempt chan struct{} // closed when the mover has tried, or waits for a commit
	seen    int64         // readers of log see the commits up to this byte
	holds   []*hold
	kept    []*commitlog.Log // older than ended, retained for holds
	holding sync.Mutex       // held while a hold begins, and while logs must stay open; taken before mu

	// Owned by the mover.
	scrub  scrub
	packer packer
	filter atomic.Pointer[bloom.Filter] // of the keys in the tree; nil: none

	carrying   atomic.Bool // the mover waits for a commit, which must not wait for the mover
	woken      chan struct{}
	moverEnded chan struct{}
	commitTree func(*bolt.Tx) error     // replaced in tests
	beginRead  func() (*bolt.Tx, error) // replaced in tests

	shipping chan struct{} // full while Ship runs, and after Close

	telling sync.Mutex // guards stats; taken last
	stats   Stats
}

var (
	_ kv.Store    = (*Store)(nil)
	_ kv.Recaller = (*Store)(nil)
)

// Stats counts the work since the store was opened.
type Stats struct {
	Commits uint64
	Trips   uint64 // calls that wrote
	Ops     uint64
	Swept   uint64 // expired items removed
	Carried uint64 // items on damaged pages, kept in the log
	Lost    uint64 // commits lost in a crash before this open

	Committing time.Duration

	Slowed  time.Duration // delay of writers, because the log filled too fast
	Unmoved int64         // bytes not yet in the tree
	Trouble error         // of the mover; may be nil
	Refused error         // of the last commit, as by a full disk; may be nil

	Scrub    Scrub
	Shipping Shipping
}

// Do carries out ops in order and in one commit, or on one snapshot if all are reads.
func (s *Store) Do(ctx context.Context, ops []kv.Op) error {
	if kv.Check(ops, kv.Powers{Unless: true, Ordered: true}) == 0 {
		return nil
	}
	var fail *failure
	if writes(ops) {
		fail = s.write(ctx, func(in *live) *failure { return in.run(ops) })
	} else {
		fail = s.read(ctx, ops)
	}
	if fail != nil {
		fail.fill(ops)
	}
	return kv.Unanswered(ops)
}

// Close waits for a running commit, syncs the file and closes it.
func (s *Store) Close() error { return s.close() }

// Powers returns the powers of the store: all that kv defines.
func (s *Store) Powers() kv.Powers {
	return kv.Powers{Unless: true, Ordered: true, Alone: true, Local: true, Near: s.cache != nil, Atomic: s.atomic, Keys: s.keys, Walk: s.walk, Disk: s.onDisk, Backup: s.Backup, Findings: s.findings}
}

// Stats returns the counts so far.
func (s *Store) Stats() Stats {
	s.telling.Lock()
	st := s.stats
	s.telling.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, t := range []*table{s.filling, s.moving} {
		if t != nil {
			st.Unmoved += int64(t.bytes)
		}
	}
	return st
}

func (s *Store) tell(f func(*Stats)) {
	s.telling.Lock()
	defer s.telling.Unlock()
	f(&s.stats)
}

func (s *Store) onDisk() kv.Disk {
	st := s.Stats()
	d := kv.Disk{
		Commits: st.Commits, Committing: st.Committing, Lost: st.Lost, Unmoved: st.Unmoved,
		Damaged: st.Scrub.Damaged + st.Scrub.Missing,
		Trouble: errors.Join(st.Refused, st.Trouble, st.Scrub.Err, st.Shipping.Trouble, st.Shipping.Spoiled),
	}
	if !st.Shipping.Shipped.IsZero() {
		d.Behind = max(0, time.Since(st.Shipping.Shipped))
	}
	return d
}

func writes(ops []kv.Op) bool {
	for i := range ops {
		if ops[i].Kind.Writes() && ops[i].Result.Err == nil {
			return true
		}
	}
	return false
}

func (s *Store) read(ctx context.Context, ops []kv.Op) *failure {
	if err := ctx.Err(); err != nil {
		return unavailable(err)
	}
	if fail := s.failed.Load(); fail != nil {
		return fail
	}
	s.giveWay()
	r := reading{Store: s, ops: ops}
	if fail := s.try(r.do); fail != nil {
		return fail
	}
	r.keep()
	return nil
}

func (s *Store) now() int64 { return s.opts.Now().UnixNano() }

// view runs f on the tree. It returns an ErrCorrupt if f read a damaged page.
func (s *Store) view(f func(*tree)) *failure {
	var broken error
	fail := s.try(func() error {
		return s.db.View(func(tx *bolt.Tx) error {
			broken = onPage(func() { f(s.tree(tx)) })
			return nil
		})
	})
	if fail == nil && broken != nil {
		return &failure{codec.ErrCorrupt, fmt.Errorf("%s: %w", s.path, broken)}
	}
	return fail
}

// guard stops the store if f panics: the file is damaged, and bbolt may still hold its locks.
func (s *Store) guard(f func()) (fail *failure) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			fail = s.stop(fmt.Errorf("%s: %w: %v", s.path, ErrDamaged, p))
		}
	}()
	f()
	return nil
}

func (s *Store) try(f func() error) *failure {
	var err error
	fail := s.guard(func() { err = f() })
	if fail == nil && err != nil {
		fail = unavailable(err)
	}
	return fail
}

func (s *Store) stop(cause error) *failure {
	if s.failed.CompareAndSwap(nil, unavailable(cause)) {
		close(s.halted)
	}
	return s.failed.Load()
}

func (s *Store) closer() func() error {
	return sync.OnceValue(func() (err error) {
		failed := s.failed.Load()
		close(s.closing)
		<-s.stopped
		s.beside.Wait()
		select {
		case s.shipping <- struct{}{}:
		case <-time.After(closeTime + time.Second):
		}
		select {
		case <-s.moverEnded:
		case <-s.halted: // The mover may wait for a lock that bbolt held during a panic.
		}
		stopped := s.failed.Load()
		if stopped == nil {
			return s.end()
		}
		if failed == nil {
			defer func() { err = errors.Join(err, stopped) }()
		}
		done := make(chan error, 1)
		go func() {
			<-s.moverEnded
			done <- s.closeFiles()
		}()
		select {
		case err := <-done:
			return err
		case <-time.After(time.Second):
			return fmt.Errorf("boltkv: close %s: the file stays locked until this process ends: %w", s.path, stopped.cause)
		}
	})
}

// end moves the commits in the logs to the tree, and removes the logs before it unlocks the file.
func (s *Store) end() error {
	err := s.empty()
	s.failed.CompareAndSwap(nil, errClosed)
	if err != nil {
		err = fmt.Errorf("commits that are not in it yet stay in its log: %w", err)
	}
	err = errors.Join(err, s.closeLogs())
	if err == nil { // Not every system can remove an open file.
		err = s.removeLogs()
	}
	if err == nil {
		trim(s.path, s.db)
	}
	if err == nil && s.last != nil {
		s.last()
	}
	if err := errors.Join(err, s.db.Close()); err != nil {
		return fmt.Errorf("boltkv: close %s: %w", s.path, err)
	}
	return nil
}

// trim cuts off the end of the file, which bbolt allocates in advance. Not every system can do that
// to a mapped file; it then stays as large as it is.
func trim(path string, db *bolt.DB) {
	_ = db.View(func(tx *bolt.Tx) error { return os.Truncate(path, tx.Size()) })
}

func (s *Store) empty() error {
	if s.moving != nil {
		if err := s.moveTable(s.moving, s.ended, func(st *state) { st.epoch = s.log.Epoch }); err != nil {
			return err
		}
	}
	return s.moveTable(s.filling, s.log, func(st *state) { st.open = false })
}

func (s *Store) closeFiles() error { return errors.Join(s.closeLogs(), s.db.Close()) }

func (s *Store) closeLogs() error {
	s.mu.Lock()
	logs := append(s.kept, s.ended, s.log)
	s.kept = nil
	s.mu.Unlock()
	var err error
	for _, log := range logs {
		if log != nil {
			err = errors.Join(err, log.Close())
		}
	}
	return err
}
