package boltkv

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// abandoned returns the path of a store with n items as a crash of its process leaves it.
func abandoned(t *testing.T, n int) (path string) {
	t.Helper()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "open.db"), filepath.Join(dir, "store.db")
	s := openAt(t, from, Options{})
	for i := range n {
		one(t, s, kv.OpSet(keyAt(i), fmt.Append(nil, "value ", i)))
	}
	copyStore(t, from, to)
	must(s.Close())
	return to
}

func logOf(path string) string { return path + ".log1" }

func files(path string) map[string]string {
	all := make(map[string]string)
	for _, end := range []string{"", ".log0", ".log1"} {
		if data, err := os.ReadFile(path + end); err == nil {
			all[end] = string(data)
		}
	}
	return all
}

func change(path string, f func(data []byte) []byte) {
	must(os.WriteFile(path, f(need(os.ReadFile(path))), 0o600))
}

func TestOpen_LogThatDoesNotFitIsNamedAndNothingIsTouched(t *testing.T) {
	const n = 50
	for name, test := range map[string]struct {
		spoil func(t *testing.T, path string)
		says  string
	}{
		"no log":               {func(_ *testing.T, path string) { must(os.Remove(logOf(path))) }, "store.db.log1, which has its last commits, is missing"},
		"a log without a file": {func(_ *testing.T, path string) { must(os.Remove(path)) }, "the file is missing, but its log "},
		"the log of another store": {func(t *testing.T, path string) {
			must(os.WriteFile(logOf(path), need(os.ReadFile(logOf(abandoned(t, n)))), 0o600))
		}, "store.db.log1 is the log of another store"},
		"the log of another time": {func(_ *testing.T, path string) {
			log := need(os.ReadFile(logOf(path)))
			must(need(Open(path, Options{})).Close())
			s := need(Open(path, Options{}))
			copyStore(t, path, path+".again")
			must(s.Close())
			for end, data := range files(path + ".again") {
				must(os.WriteFile(path+end, []byte(data), 0o600))
			}
			must(os.Remove(path + ".log0"))
			must(os.WriteFile(logOf(path), log, 0o600))
		}, "is missing or of another time"},
		"a closed file with a later log": {func(t *testing.T, path string) {
			must(need(Open(path, Options{})).Close())
			closed := need(os.ReadFile(path))
			s := need(Open(path, Options{}))
			one(t, s, kv.OpSet("later", nil))
			copyStore(t, path, path+".again")
			must(s.Close())
			for end, data := range files(path + ".again") {
				must(os.WriteFile(path+end, []byte(data), 0o600))
			}
			must(os.WriteFile(path, closed, 0o600))
		}, "has 1 commits that it lacks"},
		"text": {func(_ *testing.T, path string) {
			must(os.WriteFile(logOf(path), bytes.Repeat([]byte("text\n"), 2000), 0o600))
		}, "it does not begin with \"ringtree log v1\\n\""},
		"a flipped header": {func(_ *testing.T, path string) {
			change(logOf(path), func(data []byte) []byte { data[40] ^= 1; return data })
		}, "the checksum of its header does not match"},
		"a flipped record": {func(_ *testing.T, path string) {
			change(logOf(path), func(data []byte) []byte { data[bytes.Index(data, []byte("value 7"))] ^= 1; return data })
		}, "record 8 at byte "},
		"a record that was overwritten": {func(_ *testing.T, path string) {
			change(logOf(path), func(data []byte) []byte { clear(data[4096:4200]); return data })
		}, "record 1 at byte 4096 is damaged"},
		"records that were exchanged": {func(_ *testing.T, path string) {
			change(logOf(path), func(data []byte) []byte {
				at := bytes.Index(data, []byte("value 20")) &^ 7
				return append(data[:at:at], append(bytes.Clone(data[at+160:at+320]), data[at+160:]...)...)
			})
		}, "is damaged, and "},
	} {
		t.Run(name, func(t *testing.T) {
			path := abandoned(t, n)
			test.spoil(t, path)
			before := files(path)
			s, err := Open(path, Options{})
			if err == nil {
				t.Fatalf("Open succeeded: %v", s.Close())
			}
			wantErr(t, err, ErrDamaged)
			if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("the error is %q, want it to name %s and to say %q", err, path, test.says)
			}
			for end, data := range files(path) {
				if data != before[end] && !(end == "" && before[end] == "") {
					t.Errorf("Open has changed store.db%s", end)
				}
			}
		})
	}
}

func TestOpen_TornEndOfALogIsDropped(t *testing.T) {
	path := abandoned(t, 3)
	change(logOf(path), func(data []byte) []byte {
		at := bytes.Index(data, []byte("value 2"))
		clear(data[at:])
		return data
	})
	s := openAt(t, path, Options{})
	one(t, s, kv.OpGet(keyAt(1)))
	wantGone(t, s, keyAt(2))
	one(t, s, kv.OpSet(keyAt(2), nil))
}

func TestOpen_LogWhoseBeginningDidNotEndIsNone(t *testing.T) {
	path := storeFile(t)
	for _, log := range [][]byte{nil, make([]byte, 10), make([]byte, 64<<10)} {
		must(os.WriteFile(path+".log0", log, 0o600))
		s := openAt(t, path, Options{})
		one(t, s, kv.OpGet(keyAt(1)))
		must(s.Close())
	}
}

// busyDisk, like that of Windows, removes no open file.
type busyDisk struct {
	fakeDisk
	opened map[string]int
}

func (d *busyDisk) open(path string, makes bool) (commitlog.File, error) {
	f, err := d.fakeDisk.open(path, makes)
	if err == nil {
		d.opened[path]++
	}
	return f, err
}

func (d *busyDisk) remove(path string) error {
	if d.opened[path] > 0 {
		return errors.New("the file is open")
	}
	return d.fakeDisk.remove(path)
}

func openBusy(t *testing.T, path string) *Store {
	t.Helper()
	d := &busyDisk{fakeDisk{disk: osDisk{}}, make(map[string]int)}
	d.close = func(path string) { d.opened[path]-- }
	return need(openWith(path, Options{}, func(s *Store) { s.disk = d }))
}

func wantOnlyFile(t *testing.T, s *Store) {
	t.Helper()
	proof.Ends(t, nil)(kv.One(t.Context(), s, kv.OpGet("key")))
	closes(t, s)
	all := need(filepath.Glob(s.path + "*"))
	proof.NoDiff(t, cmp.Diff([]string{s.path}, all), "files")
}

func copyFiles(t *testing.T, from, to string) {
	t.Helper()
	all := need(filepath.Glob(from + "*"))
	for _, name := range all {
		data, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(to+strings.TrimPrefix(name, from), data, 0o600)
		}
		proof.Must(t, err)
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
		proof.Ends(t, nil)(kv.One(t.Context(), again, kv.OpGet(rigKey(i))))
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

// After a power cut that took the end of a log, the commits of the next one are gone.
func TestOpen_ALogThatWasDroppedDoesNotComeBack(t *testing.T) {
	power, path := new(powerDisk), filepath.Join(t.TempDir(), "store.db")
	var hangs atomic.Bool
	var goOn chan struct{}
	open := func(turn int) *Store {
		goOn = make(chan struct{})
		disk := &fakeDisk{disk: cutDisk{power}, sync: func(path string) error {
			if hangs.Load() && strings.HasSuffix(path, ".log1") {
				<-goOn
			}
			return nil
		}}
		return need(openWith(path, Options{Durability: Unsynced}, func(s *Store) {
			s.disk, s.limits.tick, s.limits.turn = disk, time.Hour, turn
		}))
	}
	cut := func(s *Store) {
		tree := need(os.ReadFile(path))
		power, path = power.cutTo(), filepath.Join(t.TempDir(), "store.db")
		must(os.WriteFile(path, tree, 0o600))
		hangs.Store(false)
		close(goOn)
		closes(t, s)
	}
	s := open(8 << 10)
	set(t, s, "first")
	set(t, s, "second")
	torn := s.log.Bytes()
	hangs.Store(true)
	set(t, s, "third")
	end := s.ended.Bytes() - 48
	set(t, s, "fourth")
	cut(s)
	for _, at := range []int64{torn, end} {
		copy(power.files["store.db.log1"].Data[at:], make([]byte, 8))
	}
	s = open(1 << 20)
	wantKeys(t, s, "first", "second")
	set(t, s, "new") // It has the number of the third.
	cut(s)
	s = open(1 << 20)
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
