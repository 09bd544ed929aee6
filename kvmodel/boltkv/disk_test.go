package boltkv

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// busyDisk is a disk that, like that of Windows, removes no file that is open.
type busyDisk struct {
	osDisk
	opened map[string]int
}

type busyFile struct {
	commitlog.File
	close func()
}

func (f busyFile) Close() error {
	err := f.File.Close()
	if err == nil {
		f.close()
	}
	return err
}

var errBusy = errors.New("the file is open")

func (d *busyDisk) open(path string, makes bool) (commitlog.File, error) {
	f, err := d.osDisk.open(path, makes)
	if err != nil {
		return nil, err
	}
	d.opened[path]++
	return busyFile{f, func() { d.opened[path]-- }}, nil
}

func (d *busyDisk) remove(path string) error {
	if d.opened[path] > 0 {
		return errBusy
	}
	return d.osDisk.remove(path)
}

// openBusy opens a store on a busyDisk.
func openBusy(t *testing.T, path string) *Store {
	t.Helper()
	s, err := openWith(path, Options{}, func(s *Store) { s.disk = &busyDisk{opened: make(map[string]int)} })
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantOnlyFile closes s, which has the key and no log then.
func wantOnlyFile(t *testing.T, s *Store) {
	t.Helper()
	if _, err := kv.One(t.Context(), s, kv.OpGet("key")); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	all, err := filepath.Glob(s.path + "*")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{s.path}, all); diff != "" {
		t.Errorf("files mismatch (-want +got):\n%s", diff)
	}
}

// copyFiles copies the file of a store and its logs.
func copyFiles(t *testing.T, from, to string) {
	t.Helper()
	all, err := filepath.Glob(from + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		data, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(to+strings.TrimPrefix(name, from), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestStore_NoLogIsRemovedThatIsOpen(t *testing.T) {
	dir := t.TempDir()
	path, left := filepath.Join(dir, "store.db"), filepath.Join(dir, "left.db")
	s := openBusy(t, path)
	if _, err := kv.One(t.Context(), s, kv.OpSet("key", nil)); err != nil {
		t.Fatal(err)
	}
	copyFiles(t, path, left)
	next := commitlog.Header{Store: s.id, Epoch: s.log.Epoch + 1, First: s.log.Next()}
	wantOnlyFile(t, s)

	// A crash came after the next log was begun, and before this one ended.
	file, err := osDisk{}.open(left+".log0", true)
	if err != nil {
		t.Fatal(err)
	}
	log, err := commitlog.Create(file, next)
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	copyFiles(t, left, filepath.Join(dir, "later.db"))
	wantOnlyFile(t, openBusy(t, left))

	// A crash came after the store was closed, and before its logs were removed.
	if err := os.Remove(filepath.Join(dir, "later.db")); err != nil {
		t.Fatal(err)
	}
	copyFiles(t, left, filepath.Join(dir, "later.db"))
	wantOnlyFile(t, openBusy(t, filepath.Join(dir, "later.db")))
}
