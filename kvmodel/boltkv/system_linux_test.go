package boltkv_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func init() { children["full"] = fillUp }

// asNobody runs f without the rights of root, whom no file mode keeps out. It
// runs f on a thread that ends with it.
func asNobody(f func()) {
	var done sync.WaitGroup
	done.Go(func() {
		if os.Geteuid() == 0 {
			runtime.LockOSThread()
			check(syscall.Setfsuid(65534))
		}
		f()
	})
	done.Wait()
}

func TestOpen_ReadOnlyFileIsPermissionDenied(t *testing.T) {
	path := storeFile(t)
	for dir := filepath.Dir(path); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
		check(os.Chmod(dir, 0o777))
	}
	check(os.Chmod(path, 0o444))
	asNobody(func() { wantOpenErr(t, path, fs.ErrPermission, "permission denied") })
	check(os.Chmod(path, 0o600))
	one(t, openAt(t, path, boltkv.Options{}), kv.OpGet(keyAt(0)))
}

func TestOpen_ReadOnlyDirectoryIsPermissionDenied(t *testing.T) {
	dir := t.TempDir()
	check(os.Chmod(dir, 0o555))
	defer func() { check(os.Chmod(dir, 0o755)) }()
	asNobody(func() {
		wantOpenErr(t, filepath.Join(dir, "store.db"), fs.ErrPermission, "permission denied")
		_, err := boltkv.Open(filepath.Join(dir, "sub", "store.db"), boltkv.Options{})
		wantErr(t, err, fs.ErrPermission)
	})
}

func TestOpen_PipeIsRefusedAndDoesNotBlock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	check(syscall.Mkfifo(path, 0o600))
	wantOpenErr(t, path, boltkv.ErrDamaged, "not a regular file")
}

func TestStore_Do_FileCutOffWhileOpenIsUnavailable(t *testing.T) {
	for _, op := range []kv.Op{kv.OpGet(keyAt(500)), kv.OpSet(keyAt(500), nil)} {
		for _, keep := range []int64{0, 8192} {
			t.Run(fmt.Sprintf("%v-after-%d", op.Kind, keep), func(t *testing.T) {
				path := storeFile(t)
				s := must(boltkv.Open(path, boltkv.Options{}))
				// bbolt may panic with its locks held, until the process ends.
				defer func() { _ = s.Close() }()
				check(os.Truncate(path, keep))
				for range 2 {
					_, err := kv.One(t.Context(), s, op)
					wantErr(t, err, kv.ErrUnavailable, boltkv.ErrDamaged)
				}
			})
		}
	}
}

func TestStore_Do_FullDiskIsUnavailableAndKeepsTheRest(t *testing.T) {
	out, err := childCommand("full", filepath.Join(t.TempDir(), "store.db")).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// fillUp writes to a store on a file that must not grow past a limit, as on a
// full disk, and then lifts the limit. It changes the limit of its process.
func fillUp(path string) error {
	s, err := boltkv.Open(path, boltkv.Options{})
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
	if s, err = boltkv.Open(path, boltkv.Options{}); err != nil {
		return err
	}
	return errors.Join(wantStored(s, stored), s.Close())
}

func fillUntilRefused(s kv.Store) (stored int, err error) {
	for ; stored < 1000; stored++ {
		if _, err := kv.One(context.Background(), s, kv.OpAdd(keyAt(stored), boltkv.Noise(10_000))); err != nil {
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
