package boltkv_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/boltkv"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// sparseFile makes a closed store, most of whose items were deleted.
func sparseFile(t *testing.T) (path string, kept kv.Result) {
	t.Helper()
	path = storeFile(t)
	s := must(boltkv.Open(path, boltkv.Options{}))
	var ops []kv.Op
	for i := 1; i < 1000; i++ {
		ops = append(ops, kv.OpDelete(keyAt(i)))
	}
	check(s.Do(t.Context(), ops))
	one(t, s, kv.OpSet("expires", nil).For(time.Hour))
	kept = one(t, s, kv.OpGet(keyAt(0)))
	check(s.Close())
	return path, kept
}

func size(path string) int64 { return must(os.Stat(path)).Size() }

func TestCompact_SmallerFileHoldsTheSame(t *testing.T) {
	path, kept := sparseFile(t)
	check(os.Chmod(path, 0o640))
	check(os.WriteFile(path+".compact", []byte("left by a crash"), 0o600))
	before := size(path)
	done := must(boltkv.Compact(path))
	wantOnly(t, filepath.Dir(path), "store.db")
	if diff := cmp.Diff(boltkv.Compaction{Before: before, After: size(path)}, done); diff != "" {
		t.Errorf("Compaction mismatch (-want +got):\n%s", diff)
	}
	if done.After*4 > done.Before {
		t.Errorf("%d bytes became %d, want a quarter at most", done.Before, done.After)
	}
	if got := must(os.Stat(path)).Mode(); got != 0o640 {
		t.Errorf("mode is %v, want that of before", got)
	}
	s := openAt(t, path, boltkv.Options{})
	if diff := cmp.Diff(kept, one(t, s, kv.OpGet(keyAt(0)))); diff != "" {
		t.Errorf("item mismatch (-want +got):\n%s", diff)
	}
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
	s := must(boltkv.Open(path, boltkv.Options{Now: clock.Now}))
	fillExpiring(t, s, 2)
	check(s.Close())
	must(boltkv.Compact(path))
	s, _ = quick(t, path, clock)
	one(t, s, kv.OpGet("k0"))
	clock.Advance(time.Minute)
	wantGone(t, s, "k0")
	until(t, func() bool { return s.Stats().Swept == 2 })
}

func TestCompact_OpenStoreIsInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s := openAt(t, path, boltkv.Options{})
	_, err := boltkv.Compact(path)
	wantErr(t, err, boltkv.ErrInUse)
	one(t, s, kv.OpSet("key", nil))
}

func TestCompact_WhatIsNoStoreStaysAsItWas(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	check(os.WriteFile(path, []byte("not a store"), 0o600))
	_, err := boltkv.Compact(path)
	wantErr(t, err, boltkv.ErrDamaged)
	if got := string(must(os.ReadFile(path))); got != "not a store" {
		t.Errorf("the file now holds %q", got)
	}
	wantOnly(t, dir, "file")
}

func TestCompact_DamagedStoreStaysAsItWas(t *testing.T) {
	path := storeFile(t)
	damageItems(t, path)
	before := size(path)
	_, err := boltkv.Compact(path)
	wantErr(t, err, boltkv.ErrDamaged)
	if got := size(path); got != before {
		t.Errorf("the file has %d bytes, had %d", got, before)
	}
	wantOnly(t, filepath.Dir(path), "store.db")
}

func TestCompact_MissingFileIsNotMade(t *testing.T) {
	dir := t.TempDir()
	_, err := boltkv.Compact(filepath.Join(dir, "none.db"))
	wantErr(t, err, fs.ErrNotExist)
	wantOnly(t, dir)
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
	must(boltkv.Compact(link))
	if must(os.Lstat(link)).Mode()&fs.ModeSymlink == 0 {
		t.Error("the link became a file")
	}
	if got := size(path); got >= before {
		t.Errorf("the file it leads to has %d bytes, had %d", got, before)
	}
}

func wantOnly(t *testing.T, dir string, want ...string) {
	t.Helper()
	var got []string
	for _, entry := range must(os.ReadDir(dir)) {
		got = append(got, entry.Name())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files mismatch (-want +got):\n%s", diff)
	}
}
