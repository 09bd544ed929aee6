package boltkv

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// sparseFile makes a closed store, most of whose items were deleted.
func sparseFile(t *testing.T) (path string, kept kv.Result) {
	t.Helper()
	path = storeFile(t)
	s := need(Open(path, Options{}))
	var ops []kv.Op
	for i := 1; i < 1000; i++ {
		ops = append(ops, kv.OpDelete(keyAt(i)))
	}
	must(s.Do(t.Context(), ops))
	one(t, s, kv.OpSet("expires", nil).For(time.Hour))
	kept = one(t, s, kv.OpGet(keyAt(0)))
	must(s.Close())
	return path, kept
}

func size(path string) int64 { return need(os.Stat(path)).Size() }

func TestCompact_SmallerFileHoldsTheSame(t *testing.T) {
	path, kept := sparseFile(t)
	must(os.Chmod(path, 0o640))
	must(os.WriteFile(path+".compact", []byte("left by a crash"), 0o600))
	before := size(path)
	done := need(Compact(path))
	wantOnly(t, filepath.Dir(path), "store.db")
	proof.NoDiff(t, cmp.Diff(Compaction{Before: before, After: size(path)}, done), "Compaction")
	if done.After*4 > done.Before {
		t.Errorf("%d bytes became %d, want a quarter at most", done.Before, done.After)
	}
	proof.Equal(t, need(os.Stat(path)).Mode(), 0o640, "mode")
	s := openAt(t, path, Options{})
	proof.NoDiff(t, cmp.Diff(kept, one(t, s, kv.OpGet(keyAt(0)))), "item")
	wantGone(t, s, keyAt(1))
	one(t, s, kv.OpGet("expires"))
	one(t, s, kv.OpSet(keyAt(0), nil))
	if now := one(t, s, kv.OpGet(keyAt(0))).Version; now <= kept.Version {
		t.Errorf("version %d after the compaction, %d before it", now, kept.Version)
	}
}

func TestCompact_ExpiryGoesOn(t *testing.T) {
	clock := newClock()
	path := filepath.Join(t.TempDir(), "store.db")
	s := need(Open(path, Options{Now: clock.Now}))
	fillExpiring(t, s, 2)
	must(s.Close())
	need(Compact(path))
	s, _ = quick(t, path, clock)
	one(t, s, kv.OpGet("k0"))
	clock.Advance(time.Minute)
	wantGone(t, s, "k0")
	until(t, func() bool { return s.Stats().Swept == 2 })
}

func TestCompact_OpenStoreIsInUse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	s := openAt(t, path, Options{})
	proof.Ends(t, ErrInUse)(Compact(path))
	one(t, s, kv.OpSet("key", nil))
}

func TestCompact_AFailureLeavesWhatWasThere(t *testing.T) {
	text, damaged, missing := filepath.Join(t.TempDir(), "file"), storeFile(t), filepath.Join(t.TempDir(), "none.db")
	must(os.WriteFile(text, []byte("not a store"), 0o600))
	damageItems(t, damaged)
	for path, want := range map[string]error{text: ErrDamaged, damaged: ErrDamaged, missing: fs.ErrNotExist} {
		before := sizes(filepath.Dir(path))
		proof.Ends(t, want)(Compact(path))
		proof.NoDiff(t, cmp.Diff(before, sizes(filepath.Dir(path))), "files")
	}
}

func sizes(dir string) map[string]int64 {
	all := make(map[string]int64)
	for _, entry := range need(os.ReadDir(dir)) {
		all[entry.Name()] = size(filepath.Join(dir, entry.Name()))
	}
	return all
}

func TestCompact_LinkStaysALink(t *testing.T) {
	path, _ := sparseFile(t)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip("this system has no links")
		}
		t.Fatal(err)
	}
	before := size(path)
	need(Compact(link))
	if need(os.Lstat(link)).Mode()&fs.ModeSymlink == 0 {
		t.Error("the link became a file")
	}
	if got := size(path); got >= before {
		t.Errorf("the file it leads to has %d bytes, had %d", got, before)
	}
}

func wantOnly(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	for _, entry := range need(os.ReadDir(dir)) {
		got = append(got, entry.Name())
	}
	proof.NoDiff(t, cmp.Diff(want, got), "files")
}
