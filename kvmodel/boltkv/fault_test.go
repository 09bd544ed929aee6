package boltkv

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

var errDisk = errors.New("the disk says no")

// fakeDisk calls its functions, if they are not nil, before those of the disk.
type fakeDisk struct {
	disk
	write func(data []byte) (n int, err error) // n bytes are written
	sync  func(path string) error
	close func(path string)
}

type fakeFile struct {
	commitlog.File
	disk *fakeDisk
	path string
}

func (d *fakeDisk) open(path string, makes bool) (commitlog.File, error) {
	file, err := d.disk.open(path, makes)
	if err != nil {
		return nil, err
	}
	return fakeFile{file, d, path}, nil
}

func (f fakeFile) WriteAt(data []byte, at int64) (int, error) {
	if f.disk.write == nil {
		return f.File.WriteAt(data, at)
	}
	n, err := f.disk.write(data)
	if m, wrong := f.File.WriteAt(data[:n], at); wrong != nil {
		return m, wrong
	}
	return n, err
}

func (f fakeFile) Sync() error {
	if f.disk.sync != nil {
		if err := f.disk.sync(f.path); err != nil {
			return err
		}
	}
	return f.File.Sync()
}

func (f fakeFile) Close() error {
	if f.disk.close != nil {
		f.disk.close(f.path)
	}
	return f.File.Close()
}

func openOn(t *testing.T, disk disk) *Store {
	t.Helper()
	s := need(openWith(filepath.Join(t.TempDir(), "store.db"), Options{}, func(s *Store) { s.disk = disk }))
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func wantErrNot(t *testing.T, err error, want, not error) {
	t.Helper()
	if !errors.Is(err, want) || errors.Is(err, not) {
		t.Errorf("error is %v, want %v and not %v", err, want, not)
	}
}

func TestStore_Do_CommitThatFailsWasNotCarriedOut(t *testing.T) {
	disk := &fakeDisk{disk: osDisk{}}
	s := openOn(t, disk)
	disk.write = func(data []byte) (int, error) {
		if len(data) == 8 {
			return 8, nil
		}
		return len(data) / 2, errDisk
	}
	ops := []kv.Op{
		kv.OpSet("a", nil), kv.OpAdd("a", nil), kv.OpGet("a"), kv.OpDelete("b"), kv.OpSet("", nil),
	}
	wantErrNot(t, s.Do(t.Context(), ops), kv.ErrUnavailable, kv.ErrUnclear)
	for _, op := range ops[:4] {
		// Even ErrExists was an answer about a write that then failed.
		wantErrNot(t, op.Err(), kv.ErrUnavailable, kv.ErrExists)
		wantErrNot(t, op.Err(), errDisk, kv.ErrNotFound)
	}
	wantErrNot(t, ops[4].Err(), kv.ErrBadKey, kv.ErrUnavailable)

	own := errors.New("taken")
	err := s.atomic(t.Context(), func(s kv.Store) error {
		_, err := kv.One(t.Context(), s, kv.OpSet("b", nil))
		return err
	})
	wantErrNot(t, err, kv.ErrUnavailable, own)

	disk.write = nil
	for _, key := range []string{"a", "b"} {
		proof.Ends(t, nil)(kv.One(t.Context(), s, kv.OpAdd(key, nil)))
	}
}

func TestStore_Do_CommitOfUnknownFateIsUnclearAndTheLast(t *testing.T) {
	disk := &fakeDisk{disk: osDisk{}}
	s := openOn(t, disk)
	disk.sync = func(string) error { return errDisk }
	ops := []kv.Op{kv.OpSet("a", nil), kv.OpAdd("a", nil), kv.OpGet("a")}
	wantErrNot(t, s.Do(t.Context(), ops), kv.ErrUnclear, kv.ErrUnavailable)
	wantErrNot(t, ops[1].Err(), kv.ErrUnclear, kv.ErrExists)
	wantErrNot(t, ops[2].Err(), kv.ErrUnavailable, kv.ErrUnclear)
	for _, op := range []kv.Op{kv.OpSet("b", nil), kv.OpGet("a")} {
		_, err := kv.One(t.Context(), s, op)
		wantErrNot(t, err, kv.ErrUnavailable, kv.ErrUnclear)
		wantErrNot(t, err, errDisk, kv.ErrNotFound)
	}
	wantErrNot(t, s.atomic(t.Context(), func(kv.Store) error { return nil }), kv.ErrUnavailable, nil)
}

func TestStore_Do_CanceledDuringItsCommitIsUnclearAndFinishes(t *testing.T) {
	committing, goOn := make(chan struct{}, 9), make(chan struct{})
	disk := &fakeDisk{disk: osDisk{}}
	s := openOn(t, disk)
	disk.sync = func(string) error {
		committing <- struct{}{}
		<-goOn
		return nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-committing
		cancel()
	}()
	ops := []kv.Op{kv.OpSet("a", []byte("v")), kv.OpGet("a")}
	start := time.Now()
	wantErrNot(t, s.Do(ctx, ops), kv.ErrUnclear, kv.ErrUnavailable)
	wantErrNot(t, ops[0].Err(), context.Canceled, nil)
	wantErrNot(t, ops[1].Err(), kv.ErrUnavailable, kv.ErrUnclear)
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v to return", took)
	}
	close(goOn)
	need(kv.One(t.Context(), s, kv.OpSet("b", nil)))
	proof.Ends(t, nil)(kv.One(t.Context(), s, kv.OpGet("a")))
}

func TestStore_Atomic_ErrorThatRestsOnAFailedCommitIsNotGiven(t *testing.T) {
	disk := &fakeDisk{disk: osDisk{}}
	s := openOn(t, disk)
	disk.write = func(data []byte) (int, error) { return 0, errDisk }
	taken := errors.New("taken")
	setting := make(chan struct{})
	first := make(chan error, 1)
	go func() {
		first <- s.atomic(context.Background(), func(s kv.Store) error {
			close(setting)
			// The second change waits for its turn when this one ends.
			time.Sleep(100 * time.Millisecond)
			_, err := kv.One(context.Background(), s, kv.OpAdd("name", nil))
			return err
		})
	}()
	<-setting
	second := s.atomic(t.Context(), func(s kv.Store) error {
		if _, err := kv.One(t.Context(), s, kv.OpAdd("name", nil)); err != nil {
			return taken
		}
		return nil
	})
	wantErrNot(t, <-first, kv.ErrUnavailable, nil)
	wantErrNot(t, second, kv.ErrUnavailable, taken)
}

// hanging is a disk whose syncs can hang.
type hanging struct {
	fakeDisk
	power   *powerDisk
	hangs   atomic.Bool
	goOn    chan error
	hung    atomic.Int32
	closing atomic.Bool // a file was closed while a sync hung
}

func newHanging() *hanging {
	d := &hanging{power: new(powerDisk), goOn: make(chan error)}
	d.disk = cutDisk{d.power}
	d.sync = func(string) error {
		if !d.hangs.Load() {
			return nil
		}
		d.hung.Add(1)
		defer d.hung.Add(-1)
		return <-d.goOn
	}
	d.close = func(string) {
		if d.hung.Load() > 0 {
			d.closing.Store(true)
		}
	}
	return d
}

func openPeriodic(t *testing.T, path string, disk disk) *Store {
	t.Helper()
	return need(openWith(path, Options{Durability: Periodic}, func(s *Store) {
		s.disk = disk
		s.limits.turn, s.limits.idle = 8<<10, 24*time.Hour
	}))
}

func closes(t testing.TB, s *Store) {
	t.Helper()
	proof.Is(t, s.Close(), nil)
}

// hangUp sets key, and waits until the sync of that hangs.
func (d *hanging) hangUp(t *testing.T, s *Store, key string) {
	t.Helper()
	d.hangs.Store(true)
	set(t, s, key)
	time.Sleep(s.limits.tick)
	synctest.Wait()
}

// release ends the hanging sync, and lets none hang any more.
func (d *hanging) release(result error) {
	d.hangs.Store(false)
	d.goOn <- result
}

func set(t *testing.T, s *Store, key string) {
	t.Helper()
	if _, err := kv.One(t.Context(), s, kv.OpSet(key, make([]byte, 3<<10))); err != nil {
		t.Fatalf("set %s: %v", key, err)
	}
}

func TestStore_Periodic_NoWriterWaitsForASync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newHanging()
		s := openPeriodic(t, filepath.Join(t.TempDir(), "store.db"), disk)
		disk.hangUp(t, s, "a")
		if disk.hung.Load() != 1 {
			t.Fatalf("%d syncs hang after a second, want 1", disk.hung.Load())
		}
		set(t, s, "b")
		set(t, s, "c") // From here on a commit wants to begin the next log.
		time.Sleep(10 * s.limits.tick)
		proof.Equal(t, disk.hung.Load(), 1, "syncs hang at the same time")
		if s.durable.Load() >= s.look().filling.seq {
			t.Error("what is not synced counts as on the disk")
		}
		disk.release(nil)
		set(t, s, "d")
		time.Sleep(2 * s.limits.tick)
		synctest.Wait()
		if unmoved := s.Stats().Unmoved; unmoved >= int64(s.limits.turn) {
			t.Errorf("the log that was not ended while it was synced was not ended since: %d bytes are not in the tree", unmoved)
		}
		closes(t, s)
	})
}

func TestStore_Periodic_ASecondLaterACommitIsOnTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newHanging()
		path := filepath.Join(t.TempDir(), "store.db")
		s := openPeriodic(t, path, disk)
		set(t, s, "before")
		time.Sleep(s.limits.tick)
		synctest.Wait()
		disk.hangUp(t, s, "under-way")
		set(t, s, "later")

		tree := need(os.ReadFile(path))
		disk.power.Gate.Lock()
		left := disk.power.Cut(rand.New(rand.NewPCG(1, 1)))
		disk.power.Gate.Unlock()
		disk.release(nil)
		must(s.Close())
		again := filepath.Join(t.TempDir(), "store.db")
		must(os.WriteFile(again, tree, 0o600))
		s = openPeriodic(t, again, cutDisk{left})
		proof.Ends(t, nil)(kv.One(t.Context(), s, kv.OpGet("before")))
		closes(t, s)
	})
}

func TestStore_Periodic_ASyncThatFailsStopsTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newHanging()
		s := openPeriodic(t, filepath.Join(t.TempDir(), "store.db"), disk)
		disk.hangUp(t, s, "a")
		set(t, s, "b")
		disk.goOn <- errDisk
		synctest.Wait()
		for _, op := range []kv.Op{kv.OpSet("c", nil), kv.OpGet("a")} {
			_, err := kv.One(t.Context(), s, op)
			wantErrNot(t, err, kv.ErrUnavailable, kv.ErrUnclear)
			wantErrNot(t, err, errDisk, kv.ErrNotFound)
		}
		disk.hangs.Store(false)
		closes(t, s)
	})
}

func TestStore_Close_WaitsForTheSyncAndSaysThatItFailed(t *testing.T) {
	for _, result := range []error{nil, errDisk} {
		synctest.Test(t, func(t *testing.T) {
			disk := newHanging()
			s := openPeriodic(t, filepath.Join(t.TempDir(), "store.db"), disk)
			disk.hangUp(t, s, "a")
			closed := make(chan error, 1)
			go func() { closed <- s.Close() }()
			synctest.Wait()
			select {
			case err := <-closed:
				t.Fatalf("Close did not wait for the sync: %v", err)
			default:
			}
			disk.release(result)
			proof.Is(t, <-closed, result)
			if disk.closing.Load() {
				t.Error("a log was closed while it was synced")
			}
		})
	}
}

func TestStore_TurnLog_WaitsForTheSyncOfALogWhoseTableIsFull(t *testing.T) {
	s := need(openWith(filepath.Join(t.TempDir(), "store.db"), Options{}, func(s *Store) { s.limits.full = 1 }))
	<-s.turn // The committer waits now.
	epoch := s.log.Epoch
	s.holding.Lock()
	ended := make(chan error)
	go func() { ended <- s.turnLog() }()
	for range 100 {
		runtime.Gosched()
	}
	s.holding.Unlock()
	if err := <-ended; err != nil || s.log.Epoch != epoch+1 {
		t.Errorf("the log is that of epoch %d, want %d: %v", s.log.Epoch, epoch+1, err)
	}
	s.back <- struct{}{}
	closes(t, s)
}
