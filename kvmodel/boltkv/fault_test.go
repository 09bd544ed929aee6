package boltkv

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

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
		if _, err := kv.One(t.Context(), s, kv.OpAdd(key, nil)); err != nil {
			t.Errorf("a write after the failure: %v", err)
		}
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
	if _, err := kv.One(t.Context(), s, kv.OpGet("a")); err != nil {
		t.Errorf("the abandoned write is not there: %v", err)
	}
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
