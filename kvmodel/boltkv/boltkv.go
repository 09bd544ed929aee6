// Package boltkv is the embedded store: one bbolt file, no server. It is the
// default for everything built on kvmodel.
//
// [Open] returns a [Store]. Trips that only read run side by side, each on one
// snapshot of the file. Trips that write share commits: those that arrive while
// a commit runs make up the next one, and a lone writer never waits. By default
// a write is on disk before it is answered; [Durability] names the weaker
// choices. [Compact] rewrites a file without its unused space.
//
// Caveats:
//
//   - One process uses a file at a time; a second one gets [ErrInUse].
//   - A file never shrinks by itself, but its free space is reused.
//   - A store whose file turns out to be damaged stops: every later op is
//     unavailable, wrapping [ErrDamaged], until the file is opened again. A
//     store also stops after a commit that may or may not be on disk; the
//     writes of that commit are unclear.
package boltkv

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

var (
	// ErrInUse: the file is already open, in another process or in this one.
	ErrInUse = errors.New("it is open in another process")

	// ErrDamaged: the file is not a store of this package, or is no longer
	// intact.
	ErrDamaged = errors.New("not a ringtree store, or a damaged one")
)

// Options change how a Store behaves. The zero value is the safe choice.
type Options struct {
	// Durability says which writes a crash can undo.
	Durability Durability

	// Now is the clock for TTLs. It must be safe for concurrent use; nil means
	// time.Now.
	Now func() time.Time
}

// Store is a kv.Store in a bbolt file. The file holds every write the store has
// answered, each of them whole.
type Store struct {
	db   *bolt.DB
	path string
	opts Options

	turn    chan *batch   // offers the open batch to one writer after another
	back    chan struct{} // the writer hands the batch back
	closing chan struct{} // closed by Close
	stopped chan struct{} // closed when the committer has ended
	close   func() error  // runs once

	failed  atomic.Pointer[failure] // if not nil, why every op is refused
	version uint64                  // the last one given; the holder of the batch owns it
	commit  func(*bolt.Tx) error    // tests make it fail

	commits, trips, ops, swept atomic.Uint64
}

var _ kv.Store = (*Store)(nil)

// Stats is what a Store has done since it was opened.
type Stats struct {
	Commits uint64 // transactions written to the file
	Trips   uint64 // calls of Atomic, and of Do with writes, that got their turn
	Ops     uint64 // operations in them
	Swept   uint64 // expired items removed
}

// Do carries out ops: on one snapshot if they only read, otherwise in order and
// in one commit.
func (s *Store) Do(ctx context.Context, ops []kv.Op) error {
	if kv.Check(ops, kv.Powers{Unless: true}) == 0 {
		return nil
	}
	var fail *failure
	if writes(ops) {
		fail = s.write(ctx, func(in *live) *failure { return s.run(ops, in) })
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

// Powers returns all the powers there are.
func (s *Store) Powers() kv.Powers {
	return kv.Powers{Unless: true, Ordered: true, Alone: true, Atomic: s.atomic, Keys: s.keys}
}

// Stats returns the counts so far.
func (s *Store) Stats() Stats {
	return Stats{
		Commits: s.commits.Load(),
		Trips:   s.trips.Load(),
		Ops:     s.ops.Load(),
		Swept:   s.swept.Load(),
	}
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
	return s.try(func() error {
		return s.db.View(func(tx *bolt.Tx) error {
			run(ops, s.live(tx))
			return nil
		})
	})
}

// run carries out ops in a transaction that other callers share.
func (s *Store) run(ops []kv.Op, in *live) *failure {
	s.ops.Add(uint64(len(ops)))
	return s.guard(func() { run(ops, in) })
}

// guard runs f, which touches the file. Where the file is damaged, bbolt or the
// memory map panics; guard turns the panic into the store's failure. The store
// stops then, and with it the batch under way, because bbolt may still hold its
// locks.
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

// try is guard for an f that can also fail.
func (s *Store) try(f func() error) *failure {
	var err error
	fail := s.guard(func() { err = f() })
	if fail == nil && err != nil {
		fail = unavailable(err)
	}
	return fail
}

// stop makes every later op unavailable because of cause.
func (s *Store) stop(cause error) *failure {
	s.failed.CompareAndSwap(nil, unavailable(cause))
	return s.failed.Load()
}

// closer returns what Close does, once.
func (s *Store) closer() func() error {
	return sync.OnceValue(func() error {
		close(s.closing)
		<-s.stopped
		damaged := s.failed.Load()
		s.failed.CompareAndSwap(nil, errClosed)
		if damaged == nil {
			return s.closeFile()
		}
		// If bbolt panicked with a lock held, closing the file never returns.
		done := make(chan error, 1)
		go func() { done <- s.closeFile() }()
		select {
		case err := <-done:
			return err
		case <-time.After(time.Second):
			return fmt.Errorf("boltkv: close %s: the file stays locked until this process ends: %w", s.path, damaged.cause)
		}
	})
}

func (s *Store) closeFile() error {
	var unsynced error
	if s.opts.Durability != Synced {
		unsynced = s.db.Sync()
	}
	if err := errors.Join(unsynced, s.db.Close()); err != nil {
		return fmt.Errorf("boltkv: close %s: %w", s.path, err)
	}
	return nil
}
