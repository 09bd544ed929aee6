package boltkv_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/codec"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func keyAt(i int) string { return fmt.Sprintf("bench:%08d", i) }

// storeFile makes a closed store of several hundred KiB and returns its path.
func storeFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := boltkv.Open(path, boltkv.Options{Durability: boltkv.Unsynced})
	check(err)
	fillWith(t, s, 1000)
	check(s.Close())
	return path
}

func fillWith(t *testing.T, s kv.Store, n int) {
	t.Helper()
	var ops []kv.Op
	for i := range n {
		ops = append(ops, kv.OpSet(keyAt(i), boltkv.Noise(500)))
	}
	check(s.Do(t.Context(), ops))
}

// wantOpenErr wants Open to fail without long waiting with want, and to say which
// file it is about and each of parts.
func wantOpenErr(t *testing.T, path string, want error, parts ...string) {
	t.Helper()
	start := time.Now()
	s, err := boltkv.Open(path, boltkv.Options{})
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
	openAt(t, path, boltkv.Options{})
	for name, want := range map[string]fs.FileMode{filepath.Dir(path): 0o700 | fs.ModeDir, path: 0o600} {
		if got := must(os.Stat(name)).Mode(); got != want {
			t.Errorf("mode of %s is %v, want %v", filepath.Base(name), got, want)
		}
	}
}

func TestOpen_EmptyFileIsANewStore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	check(os.WriteFile(path, nil, 0o600))
	one(t, openAt(t, path, boltkv.Options{}), kv.OpSet("key", nil))
}

func TestOpen_StoreThatIsOpenAlreadyIsInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := openAt(t, path, boltkv.Options{})
	wantOpenErr(t, path, boltkv.ErrInUse, "is open in another process")
	one(t, s, kv.OpSet("still", []byte("well")))
	check(s.Close())
	openAt(t, path, boltkv.Options{})
}

func TestOpen_WaitsAMomentForTheOneBefore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	before := openAt(t, path, boltkv.Options{})
	time.AfterFunc(50*time.Millisecond, func() { _ = before.Close() })
	openAt(t, path, boltkv.Options{})
}

func TestOpen_FileReplacedWhileItWaitsIsTheNewOne(t *testing.T) {
	path := storeFile(t)
	old := must(bolt.Open(path, 0o600, nil))
	opened := make(chan *boltkv.Store)
	go func() { opened <- must(boltkv.Open(path, boltkv.Options{})) }()
	time.Sleep(150 * time.Millisecond)
	check(os.WriteFile(path+".new", must(os.ReadFile(path)), 0o600))
	check(os.Rename(path+".new", path))
	check(old.Close())
	s := <-opened
	one(t, s, kv.OpSet("key", nil))
	check(s.Close())
	one(t, openAt(t, path, boltkv.Options{}), kv.OpGet("key"))
}

func TestOpen_FileThatLacksItsEndIsDamaged(t *testing.T) {
	path := storeFile(t)
	whole := must(os.ReadFile(path))
	for _, keep := range []int{1, 100, 4096, 8191, 8192, 8193, 12288, 16384, len(whole) / 2} {
		check(os.WriteFile(path, whole[:keep], 0o600))
		wantOpenErr(t, path, boltkv.ErrDamaged)
		if got := must(os.ReadFile(path)); !bytes.Equal(whole[:keep], got) {
			t.Errorf("Open changed a file that keeps %d bytes", keep)
		}
	}
	check(os.WriteFile(path, whole, 0o600))
	one(t, openAt(t, path, boltkv.Options{}), kv.OpGet(keyAt(999)))
}

func TestOpen_FileThatIsNoStoreIsDamagedAndLeftAlone(t *testing.T) {
	for name, content := range map[string][]byte{
		"text":   bytes.Repeat([]byte("This is not a store.\n"), 2000),
		"zeroes": make([]byte, 1<<16),
		"short":  []byte("x"),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "store.db")
			check(os.WriteFile(path, content, 0o600))
			wantOpenErr(t, path, boltkv.ErrDamaged, "not a ringtree store")
			if got := must(os.ReadFile(path)); !bytes.Equal(content, got) {
				t.Error("Open changed the file")
			}
		})
	}
}

func TestOpen_BoltFileOfAnotherProgramIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	db := must(bolt.Open(path, 0o600, nil))
	check(db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("items")); return err }))
	check(db.Close())
	wantOpenErr(t, path, boltkv.ErrDamaged, "a bolt file of another program")
}

func TestOpen_FormatOfALaterVersionIsRefused(t *testing.T) {
	path := storeFile(t)
	db := must(bolt.Open(path, 0o600, nil))
	check(db.Update(func(tx *bolt.Tx) error {
		return tx.Bucket([]byte("ringtree")).Put([]byte("format"), []byte("4"))
	}))
	check(db.Close())
	wantOpenErr(t, path, boltkv.ErrDamaged, `its format is "4", this program reads "3"`)
}

func TestOpen_DirectoryIsNotAStore(t *testing.T) {
	wantOpenErr(t, t.TempDir(), boltkv.ErrDamaged, "not a regular file")
}

func TestOpen_FileInPlaceOfTheDirectoryIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	check(os.WriteFile(file, nil, 0o600))
	if _, err := boltkv.Open(filepath.Join(file, "store.db"), boltkv.Options{}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("Open below a file returned %v", err)
	}
}

func TestOpen_BadArgumentsAreNamed(t *testing.T) {
	if _, err := boltkv.Open("", boltkv.Options{}); err == nil || !strings.Contains(err.Error(), "path is empty") {
		t.Errorf("Open of no path returned %v", err)
	}
	path := filepath.Join(t.TempDir(), "store.db")
	if _, err := boltkv.Open(path, boltkv.Options{Durability: 7}); err == nil || !strings.Contains(err.Error(), "Durability(7)") {
		t.Errorf("Open with an unknown durability returned %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it left a file: %v", err)
	}
}

// damage overwrites all of a closed store's file but bbolt's two headers.
func damage(t *testing.T, path string, with byte) {
	t.Helper()
	file := must(os.ReadFile(path))
	for i := 2 * os.Getpagesize(); i < len(file); i++ {
		file[i] = with
	}
	check(os.WriteFile(path, file, 0o600))
}

func TestOpen_FileWithDamagedDataIsDamaged(t *testing.T) {
	for _, with := range []byte{0, 0xff, 'x'} {
		path := storeFile(t)
		damage(t, path, with)
		s, err := boltkv.Open(path, boltkv.Options{})
		if err == nil {
			t.Fatalf("Open of a file full of %#x succeeded: %v", with, s.Close())
		}
		wantErr(t, err, boltkv.ErrDamaged)
	}
}

// damageItems overwrites every block that has items of fillWith in it.
func damageItems(t *testing.T, path string) {
	t.Helper()
	clearPages(path, func(page []byte) bool { return bytes.Contains(page, []byte("bench:")) })
}

// clearPages overwrites the blocks of a closed store's file that are chosen, and returns how
// many they were.
func clearPages(path string, chosen func(page []byte) bool) (n int) {
	file := must(os.ReadFile(path))
	for page := range slices.Chunk(file, os.Getpagesize()) {
		if chosen(page) {
			clear(page)
			n++
		}
	}
	check(os.WriteFile(path, file, 0o600))
	return n
}

func TestStore_Do_DamagedItemIsCorruptAndAllElseWorks(t *testing.T) {
	path := storeFile(t)
	damageItems(t, path)
	s := must(boltkv.Open(path, boltkv.Options{}))
	ops := []kv.Op{kv.OpGet(keyAt(500)), kv.OpAppend(keyAt(501), nil), kv.OpIncrement(keyAt(502), 1), kv.OpGet("none")}
	check(s.Do(t.Context(), ops))
	for i, op := range ops[:3] {
		wantErr(t, op.Err(), codec.ErrCorrupt)
		if want := keyAt(500 + i); !strings.Contains(op.Err().Error(), want) {
			t.Errorf("the error is %v, want it to name %s", op.Err(), want)
		}
	}
	one(t, s, kv.OpSet(keyAt(500), []byte("new")))
	one(t, s, kv.OpSwap(keyAt(503), ops[0].Result.Version, []byte("swapped")))
	one(t, s, kv.OpSet("other", []byte("new")))
	_ = s.Close() // The log stays: see TestStore_Do_WritesToADamagedPageStayInTheLog.
	s = must(boltkv.Open(path, boltkv.Options{}))
	for key, want := range map[string]string{keyAt(500): "new", keyAt(503): "swapped", "other": "new"} {
		if got := string(one(t, s, kv.OpGet(key)).Value); got != want {
			t.Errorf("%s holds %q after it was opened again, want %q", key, got, want)
		}
	}
	one(t, s, kv.OpDelete(keyAt(500)))
	wantGone(t, s, keyAt(500))
	_ = s.Close()
	s = must(boltkv.Open(path, boltkv.Options{}))
	wantGone(t, s, keyAt(500))
	_ = s.Close()
}

func TestStore_Atomic_DamagedItemIsCorrupt(t *testing.T) {
	path := storeFile(t)
	damageItems(t, path)
	s := openAt(t, path, boltkv.Options{})
	check(s.Powers().Atomic(t.Context(), func(s kv.Store) error {
		_, err := kv.One(t.Context(), s, kv.OpGet(keyAt(500)))
		wantErr(t, err, codec.ErrCorrupt)
		return nil
	}))
}
