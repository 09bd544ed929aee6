package boltkv

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/shelf"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// named returns the names of the objects that begin with begin.
func (r *followedRig) named(begin string) []string {
	r.t.Helper()
	names, err := r.shelf.List(context.Background(), begin)
	if err != nil {
		r.t.Fatal(err)
	}
	return names
}

func TestStore_Follow_FolderThatWasAwayGetsTheRest(t *testing.T) {
	r := newFollowedRig(t, 1, Synced)
	r.shipped()
	r.shelf.SetAway(true)
	for r.store.Stats().Shipping.Trouble == nil {
		r.write()
	}
	for range 100 {
		r.write()
	}
	if err := r.store.Stats().Shipping.Trouble; !errors.Is(err, shelf.ErrAway) {
		t.Errorf("Stats: want the folder's error, got %v", err)
	}
	r.restart() // Close cannot ship the rest either.
	r.write()
	r.shelf.SetAway(false)
	r.shipped()
	if gaps := r.store.Stats().Shipping.Gaps; gaps > 0 {
		t.Errorf("there are %d gaps", gaps)
	}
	for _, at := range []int{20, 60, r.commits} {
		if all, _ := r.restored(r.made[at]); !maps.Equal(all, r.history[at]) {
			t.Errorf("what was restored is not what there was after commit %d", at)
		}
	}
}

func TestStore_Follow_WhatWaitedTooLongIsANamedGapAndASnapshotFollows(t *testing.T) {
	r := newFollowedRig(t, 1, Unsynced)
	r.write()
	r.shipped()
	r.shelf.SetAway(true)
	from := r.commits + 1
	r.store.mu.Lock()
	r.store.limits.kept = 50 << 10
	r.store.mu.Unlock()
	for range 1000 {
		r.write()
	}
	to := r.commits
	r.shelf.SetAway(false)
	r.shipped()
	for len(r.named("snapshot-")) < 2 {
		time.Sleep(time.Millisecond)
	}
	r.write()
	r.shipped()
	if gaps := r.store.Stats().Shipping.Gaps; gaps != 1 {
		t.Errorf("want a gap, got %d", gaps)
	}
	if all, _ := r.restored(time.Time{}); !maps.Equal(all, r.history[r.commits]) {
		t.Error("what was restored behind the gap is not what there was")
	}
	_, err := Restore(t.Context(), r.shelf, r.made[(from+to)/2], filepath.Join(t.TempDir(), "restored.db"))
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "the folder was away") {
		t.Errorf("Restore of a moment in the gap: want an error that says why, got %v", err)
	}
}

// Each object of a folder is lost, cut and changed.
func TestRestore_NamesWhatIsMissingOrDamaged(t *testing.T) {
	r := newFollowedRig(t, 1, Synced)
	r.shipped()
	for range 3 {
		for range 40 {
			r.write()
		}
		r.shipped()
		r.restart() // Each time there is another piece.
		r.shipped()
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	want := r.history[r.commits]
	pieces := r.named("piece-")
	if len(pieces) < 3 {
		t.Fatalf("there are only the pieces %q", pieces)
	}
	for _, name := range r.named("") {
		for fault, spoil := range map[string]func(data []byte) []byte{
			"lost":    func([]byte) []byte { return nil },
			"cut":     func(data []byte) []byte { return data[:len(data)-8] },
			"empty":   func(data []byte) []byte { return []byte{} },
			"flipped": func(data []byte) []byte { data[len(data)/2] ^= 4; return data },
		} {
			spoiled := r.shelf.Clone()
			spoiled.Change(name, spoil)
			path := filepath.Join(t.TempDir(), "restored.db")
			done, err := Restore(t.Context(), spoiled, time.Time{}, path)
			if err != nil {
				gone := fault == "lost" // Then the error says what is missing instead.
				if !gone && (!errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), name)) {
					t.Errorf("%s %s: want an ErrDamaged that names it, got %v", name, fault, err)
				}
				if left, _ := filepath.Glob(path + "*"); len(left) > 0 {
					t.Errorf("%s %s: %q is left", name, fault, left)
				}
				continue
			}
			s, err := Open(path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			all, commits := holds(t, s)
			switch last := slices.Max(pieces); {
			case maps.Equal(all, want):
			case fault == "lost" && name == last && maps.Equal(all, r.history[commits]) && done.Known.After(done.Last):
				t.Errorf("%s %s: commits %d to %d are missing, and nothing says so", name, fault, commits, r.commits)
			default:
				t.Errorf("%s %s: what was restored is not what there was: %+v", name, fault, done)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestStore_Follow_SaysWhatDoesNotFit(t *testing.T) {
	r := newFollowedRig(t, 1, Synced)
	for range 20 {
		r.write()
	}
	r.shipped()
	another := newRig(t, 2, Synced)
	if err := another.store.Follow(t.Context(), r.shelf); !errors.Is(err, ErrFolder) || !strings.Contains(err.Error(), "of another store") {
		t.Errorf("the folder of another store: want an ErrFolder, got %v", err)
	}
	if err := r.store.Follow(t.Context(), new(shelf.Shelf)); err == nil || !strings.Contains(err.Error(), "followed already") {
		t.Errorf("a second Follow: want an error that says so, got %v", err)
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	older, err := os.ReadFile(r.path())
	if err != nil {
		t.Fatal(err)
	}
	r.open()
	r.follow()
	for range 20 {
		r.write()
	}
	r.shipped()
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.path(), older, 0o600); err != nil {
		t.Fatal(err)
	}
	r.open()
	if err := r.store.Follow(t.Context(), r.shelf); !errors.Is(err, ErrFolder) || !strings.Contains(err.Error(), "older than what was shipped") {
		t.Errorf("a file that was rolled back: want an ErrFolder, got %v", err)
	}
	for range 25 {
		r.rig.write()
	}
	if err := r.store.Follow(t.Context(), r.shelf); !errors.Is(err, ErrFolder) || !strings.Contains(err.Error(), "gone its own way") {
		t.Errorf("a file that was rolled back and written: want an ErrFolder, got %v", err)
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestStore_Strict_TakesNoWritesWithoutItsFolder(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "store.db"), Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	write := func() error {
		_, err := kv.One(t.Context(), s, kv.OpSet("key", nil))
		return err
	}
	if err := write(); !errors.Is(err, kv.ErrUnavailable) {
		t.Errorf("before Follow: want an ErrUnavailable, got %v", err)
	}
	folder := new(shelf.Shelf)
	go s.Follow(context.Background(), folder)
	for write() != nil {
		time.Sleep(time.Millisecond)
	}
	folder.SetAway(true)
	for err = write(); err == nil; err = write() {
		time.Sleep(10 * time.Millisecond)
	}
	if !errors.Is(err, kv.ErrUnavailable) || !strings.Contains(err.Error(), "has not reached its folder for") {
		t.Errorf("while the folder is away: want an ErrUnavailable that says so, got %v", err)
	}
	folder.SetAway(false)
	for write() != nil {
		time.Sleep(time.Millisecond)
	}
}

func TestPromote_WhatTheOtherFileLacksIsKeptAndCounted(t *testing.T) {
	r := newFollowedRig(t, 1, Synced)
	for range 20 {
		r.write()
	}
	r.shipped()
	own := r.shelf.Other() // The copy sees the folder, and the store does not.
	r.shelf.SetAway(true)
	for range 5 {
		r.write()
	}
	path := filepath.Join(t.TempDir(), "copy.db")
	if _, err := Promote(t.Context(), own, path); err != nil {
		t.Fatal(err)
	}
	r.shelf.SetAway(false)
	err := <-r.ended
	if !errors.Is(err, ErrFenced) || !strings.Contains(err.Error(), "5 commits") {
		t.Errorf("Follow: want an ErrFenced that counts 5 commits, got %v", err)
	}
	if n := r.store.Stats().Shipping.Unshipped; n != 5 {
		t.Errorf("Stats: want 5 unshipped commits, got %d", n)
	}
	kept, err := os.Open(r.path() + ".unshipped1")
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	found, err := RestoreBackup(t.Context(), kept, filepath.Join(t.TempDir(), "kept.db"))
	if err != nil || found.Commits != 5 {
		t.Errorf("what was kept: want 5 commits, got %+v, %v", found, err)
	}
	if err := r.store.Close(); err != nil {
		t.Fatal(err)
	}
}
