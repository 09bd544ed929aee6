package boltkv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func init() { children["full"], children["shipfull"] = fillUp, shipToFullDisk }

// asNobody runs f without the rights of root, on a thread that ends with it.
func asNobody(f func()) {
	var done sync.WaitGroup
	done.Go(func() {
		if os.Geteuid() == 0 {
			runtime.LockOSThread()
			must(syscall.Setfsuid(65534))
		}
		f()
	})
	done.Wait()
}

func TestOpen_ReadOnlyFileIsPermissionDenied(t *testing.T) {
	path := storeFile(t)
	for dir := filepath.Dir(path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		must(os.Chmod(dir, 0o777))
	}
	must(os.Chmod(path, 0o444))
	asNobody(func() { wantOpenErr(t, path, fs.ErrPermission, "permission denied") })
	must(os.Chmod(path, 0o600))
	one(t, openAt(t, path, Options{}), kv.OpGet(keyAt(0)))
}

func TestOpen_ReadOnlyDirectoryIsPermissionDenied(t *testing.T) {
	dir := t.TempDir()
	must(os.Chmod(dir, 0o555))
	defer func() { must(os.Chmod(dir, 0o755)) }()
	asNobody(func() {
		wantOpenErr(t, filepath.Join(dir, "store.db"), fs.ErrPermission, "permission denied")
		proof.Ends(t, fs.ErrPermission)(Open(filepath.Join(dir, "sub", "store.db"), Options{}))
	})
}

func TestOpen_PipeIsRefusedAndDoesNotBlock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	must(syscall.Mkfifo(path, 0o600))
	wantOpenErr(t, path, ErrDamaged, "not a regular file")
}

func TestStore_Do_FileCutOffWhileOpenIsUnavailable(t *testing.T) {
	t.Parallel()
	type cut struct {
		op   kv.Op
		keep int64
	}
	get, set := kv.OpGet(keyAt(500)), kv.OpSet(keyAt(500), nil)
	proof.AtOnce(t, map[string]cut{
		"get-after-0": {get, 0}, "get-after-8192": {get, 8192}, "set-after-0": {set, 0}, "set-after-8192": {set, 8192},
	}, func(t *testing.T, c cut) {
		path := storeFile(t)
		s := need(Open(path, Options{}))
		// bbolt may panic with its locks held, until the process ends.
		defer func() { _ = s.Close() }()
		must(os.Truncate(path, c.keep))
		for range 2 {
			_, err := kv.One(t.Context(), s, c.op)
			wantErr(t, err, kv.ErrUnavailable, ErrDamaged)
		}
	})
}

func TestStore_AFullDiskIsTroubleUntilThereIsRoomAndTakesNothing(t *testing.T) {
	proof.Alone(t)
	for _, child := range []string{"full", "shipfull"} {
		out, err := childCommand(child, filepath.Join(t.TempDir(), "store.db")).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", child, err, out)
		}
	}
}

// fillUp fills a disk, and then makes room. It changes the limit of its process.
func fillUp(path string) error {
	s, err := Open(path, Options{})
	if err != nil {
		return err
	}
	lift, err := fillDisk(1 << 20)
	if err != nil {
		return err
	}
	stored, err := fillUntilRefused(s)
	if !errors.Is(err, kv.ErrUnavailable) || errors.Is(err, kv.ErrUnclear) || stored < 10 {
		return fmt.Errorf("after %d writes a full disk gave: %w", stored, err)
	}
	if err := wantStored(s, stored); err != nil {
		return err
	}
	if err := lift(); err != nil {
		return err
	}
	if _, err := kv.One(context.Background(), s, kv.OpAdd(keyAt(stored), nil)); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	if err := s.Close(); err != nil {
		return err
	}
	if s, err = Open(path, Options{}); err != nil {
		return err
	}
	return errors.Join(wantStored(s, stored), s.Close())
}

func fillUntilRefused(s kv.Store) (stored int, err error) {
	for ; stored < 1000; stored++ {
		if _, err := kv.One(context.Background(), s, kv.OpAdd(keyAt(stored), Noise(10_000))); err != nil {
			return stored, err
		}
	}
	return stored, nil
}

func wantStored(s kv.Store, n int) error {
	for i := range n {
		r, err := kv.One(context.Background(), s, kv.OpGet(keyAt(i)))
		if err != nil || len(r.Value) != 10_000 {
			return fmt.Errorf("write %d of %d reads as %d bytes, %w", i, n, len(r.Value), err)
		}
	}
	return nil
}

// fillDisk limits the size of a file of this process, as on a full disk, until lift is called.
func fillDisk(limit uint64) (lift func() error, err error) {
	signal.Ignore(syscall.SIGXFSZ)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return nil, err
	}
	lift = func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old) }
	return lift, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: old.Max})
}

func shipToFullDisk(path string) error {
	s, err := Open(path, Options{})
	if err != nil {
		return err
	}
	const n, limit = 50, 100_000
	for i := range n {
		if _, err := kv.One(context.Background(), s, kv.OpSet(keyAt(i), Noise(10_000))); err != nil {
			return err
		}
	}
	lift, err := fillDisk(limit)
	if err != nil {
		return err
	}
	folder := Dir(path + ".shipped")
	ended := make(chan error, 1)
	go func() { ended <- s.Ship(context.Background(), folder) }()
	for done := s.Stats().Shipping; done.Trouble == nil || done.Spoiled == nil; done = s.Stats().Shipping {
		time.Sleep(time.Millisecond)
	}
	if done := s.Stats().Shipping; !errors.Is(done.Trouble, syscall.EFBIG) || !errors.Is(done.Spoiled, syscall.EFBIG) {
		return fmt.Errorf("a full disk is said to be %w and %w", done.Trouble, done.Spoiled)
	}
	if err := wantStored(s, n); err != nil {
		return err
	}
	if err := lift(); err != nil {
		return err
	}
	for s.Stats().Shipping.Trouble != nil || s.Stats().Shipping.Shipped.IsZero() {
		time.Sleep(time.Millisecond)
	}
	if err := errors.Join(s.Close(), <-ended); err != nil {
		return err
	}
	if s, err = openShipping(path, folder); err != nil {
		return err
	}
	for s.Stats().Shipping.Snapshot.IsZero() {
		time.Sleep(time.Millisecond)
	}
	if err := s.Close(); err != nil {
		return err
	}
	if left, err := filepath.Glob(path + ".shipped/.writing-*"); err != nil || len(left) > 0 {
		return fmt.Errorf("%q is left in the folder, %w", left, err)
	}
	return restoreToFullDisk(path, folder, n, limit)
}

func restoreToFullDisk(path string, folder Folder, n int, limit uint64) error {
	restore := func() error {
		_, err := Restore(context.Background(), folder, time.Time{}, path+".restored")
		return err
	}
	lift, err := fillDisk(limit)
	if err != nil {
		return err
	}
	made := restore()
	if err := lift(); err != nil {
		return err
	}
	if made == nil {
		return errors.New("it was restored to a full disk")
	}
	if left, err := filepath.Glob(path + ".restored*"); err != nil || len(left) > 0 {
		return fmt.Errorf("after %w there is %q, %w", made, left, err)
	}
	if err := restore(); err != nil {
		return fmt.Errorf("with room again: %w", err)
	}
	s, err := Open(path+".restored", Options{})
	if err != nil {
		return err
	}
	return errors.Join(wantStored(s, n), s.Close())
}

func TestStore_Ship_ReadOnlyFolderIsTrouble(t *testing.T) {
	dir := t.TempDir()
	must(os.Chmod(dir, 0o555))
	defer func() { must(os.Chmod(dir, 0o755)) }()
	asNobody(func() {
		err := Dir(dir).PutNew(t.Context(), "term-1", nil)
		wantErr(t, err, fs.ErrPermission)
	})
	names, err := Dir(dir).List(t.Context(), "")
	if err != nil || len(names) > 0 {
		t.Errorf("there is %q, %v", names, err)
	}
}

// lockedDir returns a directory in which anyone may create files and only root can sync the
// entries.
func lockedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for up := filepath.Dir(dir); up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
		must(os.Chmod(up, 0o755))
	}
	must(os.Chmod(dir, 0o333))
	t.Cleanup(func() { must(os.Chmod(dir, 0o755)) })
	return dir
}

func TestDir_AnObjectWhoseNameIsNotOnTheDiskIsAnError(t *testing.T) {
	folder := Dir(lockedDir(t))
	asNobody(func() {
		err := folder.PutNew(t.Context(), "text", strings.NewReader("text"))
		wantErr(t, err, fs.ErrPermission)
	})
}
