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

// busyDisk, like that of Windows, removes no open file.
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

func openBusy(t *testing.T, path string) *Store {
	t.Helper()
	s := need(openWith(path, Options{}, func(s *Store) { s.disk = &busyDisk{opened: make(map[string]int)} }))
	return s
}

func wantOnlyFile(t *testing.T, s *Store) {
	t.Helper()
	if _, err := kv.One(t.Context(), s, kv.OpGet("key")); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	all := need(filepath.Glob(s.path + "*"))
	if diff := cmp.Diff([]string{s.path}, all); diff != "" {
		t.Errorf("files mismatch (-want +got):\n%s", diff)
	}
}

func copyFiles(t *testing.T, from, to string) {
	t.Helper()
	all := need(filepath.Glob(from + "*"))
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
	need(kv.One(t.Context(), s, kv.OpSet("key", nil)))
	copyFiles(t, path, left)
	next := commitlog.Header{Store: s.id, Epoch: s.log.Epoch + 1, First: s.log.Next()}
	wantOnlyFile(t, s)

	// A crash came after the next log was begun, and before this one ended.
	file := need(osDisk{}.open(left+".log0", true))
	log := need(commitlog.Create(file, next))
	must(log.Close())
	copyFiles(t, left, filepath.Join(dir, "later.db"))
	wantOnlyFile(t, openBusy(t, left))

	// A crash came after the store was closed, and before its logs were removed.
	must(os.Remove(filepath.Join(dir, "later.db")))
	copyFiles(t, left, filepath.Join(dir, "later.db"))
	wantOnlyFile(t, openBusy(t, filepath.Join(dir, "later.db")))
}

func TestOpen_ALogThatLacksItsEndGoesOnInTheNext(t *testing.T) {
	dir := t.TempDir()
	path, left := filepath.Join(dir, "store.db"), filepath.Join(dir, "left.db")
	var stuck atomic.Bool
	s := need(openWith(path, Options{}, func(s *Store) {
		s.limits.tick, s.limits.turn = time.Hour, 8<<10
		s.commitTree = func(tx *bolt.Tx) error {
			if stuck.Load() {
				return errDisk
			}
			return tx.Commit()
		}
	}))
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
	need(file.WriteAt(make([]byte, 8), s.ended.Bytes()-48))
	must(file.Close())
	stuck.Store(false)
	closes(t, s)
	again := need(Open(left, Options{}))
	for i := range 20 {
		if _, err := kv.One(t.Context(), again, kv.OpGet(rigKey(i))); err != nil {
			t.Error(err)
		}
	}
	closes(t, again)
}

// cutTo returns the disk after a power cut that took only the names that were not synced.
func (d *powerDisk) cutTo() *powerDisk {
	left := &powerDisk{files: make(map[string]*powerFile)}
	for name, f := range d.synced {
		left.files[name] = &powerFile{Data: bytes.Clone(f.Data), durable: bytes.Clone(f.Data), disk: left}
	}
	left.synced = maps.Clone(left.files)
	return left
}

// hangingDisk's first log is not synced until the test allows it.
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

// After a power cut that took the end of a log, the commits of the next one are gone.
func TestOpen_ALogThatWasDroppedDoesNotComeBack(t *testing.T) {
	power, path := new(powerDisk), filepath.Join(t.TempDir(), "store.db")
	open := func(turn int) (*Store, *hangingDisk) {
		disk := &hangingDisk{cutDisk: cutDisk{power}, goOn: make(chan struct{})}
		s := need(openWith(path, Options{Durability: Unsynced}, func(s *Store) {
			s.disk, s.limits.tick, s.limits.turn = disk, time.Hour, turn
		}))
		return s, disk
	}
	cut := func(s *Store, disk *hangingDisk) {
		tree := need(os.ReadFile(path))
		power, path = power.cutTo(), filepath.Join(t.TempDir(), "store.db")
		must(os.WriteFile(path, tree, 0o600))
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

func TestStore_Do_KeyThatIsWrittenOverAndOverFillsNoDisk(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := need(openWith(path, Options{Durability: Unsynced}, func(s *Store) { s.limits.turn, s.limits.full = 1<<20, 2<<20 }))
	for range 1000 {
		need(kv.One(t.Context(), s, kv.OpSet("key", make([]byte, 16<<10))))
	}
	wantFiles := func(n int, most int64) {
		t.Helper()
		all := need(filepath.Glob(path + "*"))
		if len(all) > n {
			t.Errorf("want at most %d files, got %q", n, all)
		}
		for _, name := range all {
			if size := need(os.Stat(name)).Size(); size > most {
				t.Errorf("%s has %d bytes, want at most %d", name, size, most)
			}
		}
	}
	wantFiles(3, 5<<20)
	closes(t, s)
	wantFiles(1, 1<<20)
}
