package boltkv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func keyAt(i int) string { return fmt.Sprintf("bench:%08d", i) }

func storeFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := Open(path, Options{Durability: Unsynced})
	must(err)
	fillWith(t, s, 1000)
	must(s.Close())
	return path
}

func fillWith(t *testing.T, s kv.Store, n int) {
	t.Helper()
	var ops []kv.Op
	for i := range n {
		ops = append(ops, kv.OpSet(keyAt(i), Noise(500)))
	}
	must(s.Do(t.Context(), ops))
}

// wantOpenErr wants Open to fail soon with want, and to name the file and parts.
func wantOpenErr(t *testing.T, path string, want error, parts ...string) {
	t.Helper()
	start := time.Now()
	s, err := Open(path, Options{})
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("Open took %v to fail", took)
	}
	if err == nil {
		_ = s.Close()
		t.Fatal("Open succeeded")
	}
	wantErr(t, err, want)
	for _, part := range append(parts, path) {
		if strings.Count(err.Error(), part) != 1 {
			t.Errorf("error %q does not say %q once", err, part)
		}
	}
}

func TestOpen_MakesTheFileAndItsDirectoryForThisUserAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "store.db")
	openAt(t, path, Options{})
	for name, want := range map[string]fs.FileMode{filepath.Dir(path): 0o700 | fs.ModeDir, path: 0o600} {
		proof.Equal(t, need(os.Stat(name)).Mode(), want, "mode of %s", filepath.Base(name))
	}
}

func TestOpen_EmptyFileIsANewStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	must(os.WriteFile(path, nil, 0o600))
	one(t, openAt(t, path, Options{}), kv.OpSet("key", nil))
}

func TestOpen_StoreThatIsOpenAlreadyIsInUse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := openAt(t, path, Options{})
	wantOpenErr(t, path, ErrInUse, "is open in another process")
	one(t, s, kv.OpSet("still", []byte("well")))
	must(s.Close())
	openAt(t, path, Options{})
}

func TestOpen_WaitsAMomentForTheOneBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	before := openAt(t, path, Options{})
	time.AfterFunc(50*time.Millisecond, func() { _ = before.Close() })
	openAt(t, path, Options{})
}

func TestOpen_FileReplacedWhileItWaitsIsTheNewOne(t *testing.T) {
	t.Parallel()
	path := storeFile(t)
	old := need(bolt.Open(path, 0o600, nil))
	opened := make(chan *Store)
	go func() { opened <- need(Open(path, Options{})) }()
	time.Sleep(150 * time.Millisecond)
	must(os.WriteFile(path+".new", need(os.ReadFile(path)), 0o600))
	must(os.Rename(path+".new", path))
	must(old.Close())
	s := <-opened
	one(t, s, kv.OpSet("key", nil))
	must(s.Close())
	one(t, openAt(t, path, Options{}), kv.OpGet("key"))
}

func TestOpen_FileThatLacksItsEndIsDamaged(t *testing.T) {
	path := storeFile(t)
	whole := need(os.ReadFile(path))
	for _, keep := range []int{1, 100, 4096, 8191, 8192, 8193, 12288, 16384, len(whole) / 2} {
		must(os.WriteFile(path, whole[:keep], 0o600))
		wantOpenErr(t, path, ErrDamaged)
		if got := need(os.ReadFile(path)); !bytes.Equal(whole[:keep], got) {
			t.Errorf("Open changed a file that keeps %d bytes", keep)
		}
	}
	must(os.WriteFile(path, whole, 0o600))
	one(t, openAt(t, path, Options{}), kv.OpGet(keyAt(999)))
}

func changeTree(path string, change func(tx *bolt.Tx) error) {
	db := need(bolt.Open(path, 0o600, nil))
	must(errors.Join(db.Update(change), db.Close()))
}

func TestOpen_WhatIsNoStoreIsDamagedAndLeftAlone(t *testing.T) {
	holding := func(content []byte) func(string) {
		return func(path string) { must(os.WriteFile(path, content, 0o600)) }
	}
	headersAnd := func(rest byte) func(string) {
		file := need(os.ReadFile(storeFile(t)))
		for i := 2 * os.Getpagesize(); i < len(file); i++ {
			file[i] = rest
		}
		return holding(file)
	}
	for name, test := range map[string]struct {
		make func(path string)
		says string
	}{
		"text":              {holding(bytes.Repeat([]byte("This is not a store.\n"), 2000)), "not a ringtree store"},
		"zeroes":            {holding(make([]byte, 1<<16)), "not a ringtree store"},
		"short":             {holding([]byte("x")), "not a ringtree store"},
		"headers and zeros": {headersAnd(0), "not a ringtree store"},
		"headers and ones":  {headersAnd(0xff), "not a ringtree store"},
		"headers and text":  {headersAnd('x'), "not a ringtree store"},
		"another program's": {func(path string) {
			changeTree(path, func(tx *bolt.Tx) error { _, err := tx.CreateBucket(itemsBucket); return err })
		}, "a bolt file of another program"},
		"a later format": {func(path string) {
			holding(need(os.ReadFile(storeFile(t))))(path)
			changeTree(path, func(tx *bolt.Tx) error { return tx.Bucket(metaBucket).Put(formatKey, []byte("5")) })
		}, `its format is "5", this program reads "4"`},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			test.make(path)
			content := need(os.ReadFile(path))
			wantOpenErr(t, path, ErrDamaged, test.says)
			if got := need(os.ReadFile(path)); !bytes.Equal(content, got) {
				t.Error("Open changed the file")
			}
		})
	}
}

func TestOpen_DirectoryIsNotAStore(t *testing.T) {
	wantOpenErr(t, t.TempDir(), ErrDamaged, "not a regular file")
}

func TestOpen_FileInPlaceOfTheDirectoryIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	must(os.WriteFile(file, nil, 0o600))
	if _, err := Open(filepath.Join(file, "store.db"), Options{}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("Open below a file returned %v", err)
	}
}

func TestOpen_BadArgumentsAreNamed(t *testing.T) {
	if _, err := Open("", Options{}); err == nil || !strings.Contains(err.Error(), "path is empty") {
		t.Errorf("Open of no path returned %v", err)
	}
	path := filepath.Join(t.TempDir(), "store.db")
	if _, err := Open(path, Options{Durability: 7}); err == nil || !strings.Contains(err.Error(), "Durability(7)") {
		t.Errorf("Open with an unknown durability returned %v", err)
	}
	proof.Ends(t, fs.ErrNotExist)(os.Stat(path))
}

// damageItems overwrites every block that has items of fillWith in it.
func damageItems(t *testing.T, path string) {
	t.Helper()
	clearPages(path, func(page []byte) bool { return bytes.Contains(page, []byte("bench:")) })
}

// clearPages overwrites the chosen blocks of a closed store's file, and returns their number.
func clearPages(path string, chosen func(page []byte) bool) (n int) {
	file := need(os.ReadFile(path))
	for page := range slices.Chunk(file, os.Getpagesize()) {
		if chosen(page) {
			clear(page)
			n++
		}
	}
	must(os.WriteFile(path, file, 0o600))
	return n
}

func TestStore_Do_DamagedItemIsCorruptAndAllElseWorks(t *testing.T) {
	path := storeFile(t)
	damageItems(t, path)
	s := need(Open(path, Options{}))
	ops := []kv.Op{kv.OpGet(keyAt(500)), kv.OpAppend(keyAt(501), nil), kv.OpIncrement(keyAt(502), 1), kv.OpGet("none")}
	must(s.Do(t.Context(), ops))
	for i, op := range ops[:3] {
		wantErr(t, op.Err(), codec.ErrCorrupt)
		if want := keyAt(500 + i); !strings.Contains(op.Err().Error(), want) {
			t.Errorf("the error is %v, want it to name %s", op.Err(), want)
		}
	}
	must(s.atomic(t.Context(), func(s kv.Store) error {
		proof.Ends(t, codec.ErrCorrupt)(kv.One(t.Context(), s, kv.OpGet(keyAt(500))))
		return nil
	}))
	one(t, s, kv.OpSet(keyAt(500), []byte("new")))
	one(t, s, kv.OpSwap(keyAt(503), ops[0].Result.Version, []byte("swapped")))
	one(t, s, kv.OpSet("other", []byte("new")))
	_ = s.Close() // The log stays: see TestStore_Do_WritesToADamagedPageStayInTheLog.
	s = need(Open(path, Options{}))
	for key, want := range map[string]string{keyAt(500): "new", keyAt(503): "swapped", "other": "new"} {
		proof.Equal(t, string(one(t, s, kv.OpGet(key)).Value), want, "%s", key)
	}
	one(t, s, kv.OpDelete(keyAt(500)))
	wantGone(t, s, keyAt(500))
	_ = s.Close()
	s = need(Open(path, Options{}))
	wantGone(t, s, keyAt(500))
	_ = s.Close()
}

// watched is a file that notes where it is read.
type watched struct {
	io.ReaderAt
	reads []int64
	wait  func()
}

func (w *watched) ReadAt(room []byte, at int64) (int, error) {
	w.reads = append(w.reads, at)
	w.wait()
	return w.ReaderAt.ReadAt(room, at)
}

// openWatched reads ahead from w, which reads the store's file if it has none.
func openWatched(t *testing.T, path string, w *watched) *Store {
	t.Helper()
	return need(openWith(path, Options{Durability: Unsynced}, func(s *Store) {
		if w.ReaderAt == nil {
			w.ReaderAt = s.file
		}
		s.file = w
	}))
}

func TestOpen_ReadsTheFileAhead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	closes(t, need(Open(path, Options{})))
	must(os.Truncate(path, aheadAtOnce*5/2))
	w := &watched{wait: func() {}}
	s := openWatched(t, path, w)
	s.beside.Wait()
	closes(t, s)
	proof.NoDiff(t, cmp.Diff([]int64{0, aheadAtOnce, 2 * aheadAtOnce}, w.reads), "where a file of two and a half reads was read")
}

type endless struct{}

func (endless) ReadAt(room []byte, _ int64) (int, error) { return len(room), nil }

func TestClose_EndsReadingAhead(t *testing.T) {
	w := &watched{ReaderAt: endless{}}
	begun, closing := make(chan struct{}), make(chan struct{})
	w.wait = func() {
		close(begun)
		<-closing
	}
	s := openWatched(t, filepath.Join(t.TempDir(), "store.db"), w)
	<-begun
	go func() { <-s.closing; close(closing) }()
	closes(t, s)
	proof.Equal(t, len(w.reads), 1, "reads")
}

func TestOpen_ReadsNoMoreAheadThanAMachineHasRoomFor(t *testing.T) {
	w := &watched{ReaderAt: endless{}, wait: func() {}}
	s := openWatched(t, filepath.Join(t.TempDir(), "store.db"), w)
	s.beside.Wait()
	if len(w.reads)*aheadAtOnce != 1<<30 {
		t.Errorf("%d reads of a file without an end, want 1 GiB in all", len(w.reads))
	}
	closes(t, s)
}
