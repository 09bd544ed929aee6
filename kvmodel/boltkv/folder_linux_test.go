package boltkv_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func init() { children["shipfull"] = shipToFullDisk }

func TestStore_Ship_FullDiskIsTroubleUntilThereIsRoom(t *testing.T) {
	out, err := childCommand("shipfull", filepath.Join(t.TempDir(), "store.db")).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// fillDisk sets how large a file of this process may be, as on a full disk, and returns what
// lifts that.
func fillDisk(limit uint64) (lift func() error, err error) {
	signal.Ignore(syscall.SIGXFSZ)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		return nil, err
	}
	lift = func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old) }
	return lift, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: old.Max})
}

// shipToFullDisk ships a store to a folder whose disk is full, and restores it to such a disk,
// and both again when there is room.
func shipToFullDisk(path string) error {
	s, err := boltkv.Open(path, boltkv.Options{})
	if err != nil {
		return err
	}
	const n, limit = 50, 100_000
	for i := range n {
		if _, err := kv.One(context.Background(), s, kv.OpSet(keyAt(i), boltkv.Noise(10_000))); err != nil {
			return err
		}
	}
	lift, err := fillDisk(limit)
	if err != nil {
		return err
	}
	folder := boltkv.Dir(path + ".shipped")
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
	// The next Ship takes the snapshot, without waiting.
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

func restoreToFullDisk(path string, folder boltkv.Folder, n int, limit uint64) error {
	restore := func() error {
		_, err := boltkv.Restore(context.Background(), folder, time.Time{}, path+".restored")
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
	s, err := boltkv.Open(path+".restored", boltkv.Options{})
	if err != nil {
		return err
	}
	return errors.Join(wantStored(s, n), s.Close())
}

func TestStore_Ship_ReadOnlyFolderIsTrouble(t *testing.T) {
	dir := t.TempDir()
	check(os.Chmod(dir, 0o555))
	defer func() { check(os.Chmod(dir, 0o755)) }()
	asNobody(func() {
		err := boltkv.Dir(dir).PutNew(t.Context(), "term-1", nil)
		wantErr(t, err, fs.ErrPermission)
	})
	names, err := boltkv.Dir(dir).List(t.Context(), "")
	if err != nil || len(names) > 0 {
		t.Errorf("there is %q, %v", names, err)
	}
}

// lockedDir returns a directory in which anyone may make files, and that nobody but root may
// open, so that its entries cannot be synced.
func lockedDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for up := filepath.Dir(dir); up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
		check(os.Chmod(up, 0o755))
	}
	check(os.Chmod(dir, 0o333))
	t.Cleanup(func() { check(os.Chmod(dir, 0o755)) })
	return dir
}

func TestDir_AnObjectWhoseNameIsNotOnTheDiskIsAnError(t *testing.T) {
	folder := boltkv.Dir(lockedDir(t))
	asNobody(func() {
		err := folder.PutNew(t.Context(), "text", strings.NewReader("text"))
		wantErr(t, err, fs.ErrPermission)
	})
}
