package boltkv

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

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

// The end of a log says only that there must be another one.
func TestOpen_ALogThatLacksItsEndGoesOnInTheNext(t *testing.T) {
	dir := t.TempDir()
	path, left := filepath.Join(dir, "store.db"), filepath.Join(dir, "left.db")
	var stuck atomic.Bool
	s, err := openWith(path, Options{}, func(s *Store) {
		s.limits.tick, s.limits.turn = time.Hour, 8<<10
		s.commitTree = func(tx *bolt.Tx) error {
			if stuck.Load() {
				return errDisk
			}
			return tx.Commit()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	stuck.Store(true)
	for i := range 20 {
		set(t, s, rigKey(i))
	}
	copyFiles(t, path, left)
	ended := s.look().moving != nil && s.log.Next() > s.log.First
	file, err := os.OpenFile(left+strings.TrimPrefix(s.logPath(s.ended.Epoch), path), os.O_RDWR, 0)
	if err != nil || !ended {
		t.Fatalf("two logs have commits: %t, %v", ended, err)
	}
	if _, err := file.WriteAt(make([]byte, 8), s.ended.Bytes()-48); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	stuck.Store(false)
	closes(t, s)
	again, err := Open(left, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if _, err := kv.One(t.Context(), again, kv.OpGet(rigKey(i))); err != nil {
			t.Error(err)
		}
	}
	closes(t, again)
}

// cutTo returns the disk of a power cut that took only the names that were not synced.
func (d *powerDisk) cutTo() *powerDisk {
	left := &powerDisk{files: make(map[string]*powerFile)}
	for name, f := range d.synced {
		left.files[name] = &powerFile{Data: bytes.Clone(f.Data), durable: bytes.Clone(f.Data), disk: left}
	}
	left.synced = maps.Clone(left.files)
	return left
}

// hangingDisk is a disk whose first log is not synced until a test wants that.
type hangingDisk struct {
	cutDisk
	hangs atomic.Bool
	goOn  chan struct{}
}

type hangingLog struct {
	commitlog.File
	disk *hangingDisk
}

func (d *hangingDisk) open(path string, makes bool) (commitlog.File, error) {
	f, err := d.cutDisk.open(path, makes)
	if err == nil && strings.HasSuffix(path, ".log1") {
		f = hangingLog{f, d}
	}
	return f, err
}

func (f hangingLog) Sync() error {
	if f.disk.hangs.Load() {
		<-f.disk.goOn
	}
	return f.File.Sync()
}

// After a power cut that took the end of a log, the next one is of commits that are gone.
func TestOpen_ALogThatWasDroppedDoesNotComeBack(t *testing.T) {
	power, path := new(powerDisk), filepath.Join(t.TempDir(), "store.db")
	open := func(turn int) (*Store, *hangingDisk) {
		disk := &hangingDisk{cutDisk: cutDisk{power}, goOn: make(chan struct{})}
		s, err := openWith(path, Options{Durability: Unsynced}, func(s *Store) {
			s.disk, s.limits.tick, s.limits.turn = disk, time.Hour, turn
		})
		if err != nil {
			t.Fatal(err)
		}
		return s, disk
	}
	// cut cuts the power of s, and leaves its files elsewhere.
	cut := func(s *Store, disk *hangingDisk) {
		tree, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		power, path = power.cutTo(), filepath.Join(t.TempDir(), "store.db")
		if err := os.WriteFile(path, tree, 0o600); err != nil {
			t.Fatal(err)
		}
		disk.hangs.Store(false)
		close(disk.goOn)
		closes(t, s)
	}
	s, disk := open(8 << 10)
	set(t, s, "first")
	set(t, s, "second")
	torn := s.log.Bytes()
	disk.hangs.Store(true)
	set(t, s, "third")
	end := s.ended.Bytes() - 48
	set(t, s, "fourth")
	cut(s, disk)
	for _, at := range []int64{torn, end} {
		copy(power.files["store.db.log1"].Data[at:], make([]byte, 8))
	}
	s, disk = open(1 << 20)
	wantKeys(t, s, "first", "second")
	set(t, s, "new") // It has the number of the third.
	cut(s, disk)
	s, _ = open(1 << 20)
	wantKeys(t, s, "first", "new", "second")
	closes(t, s)
}
