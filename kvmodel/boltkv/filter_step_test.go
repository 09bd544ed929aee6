package boltkv

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel/kv"
)

// openStill opens a store that does nothing by itself.
func openStill(t *testing.T, path string, change func(*Store)) *Store {
	t.Helper()
	s := need(openWith(path, Options{Durability: Unsynced}, func(s *Store) {
		s.limits.tick, s.limits.idle = time.Hour, time.Hour
		if change != nil {
			change(s)
		}
	}))
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// largeFile makes a store of so many items of 100 KB, closed.
func largeFile(t *testing.T, n int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "store.db")
	s := need(Open(path, Options{Durability: Unsynced}))
	for i := range n {
		need(kv.One(t.Context(), s, kv.OpSet(largeKey(i), Noise(100_000))))
	}
	must(s.Close())
	return path
}

func largeKey(i int) string { return fmt.Sprintf("large:%03d", i) }

// scrubStep reads the next items of the tree.
func (s *Store) scrubStep(t *testing.T) {
	t.Helper()
	must(s.scrubSome())
}

func TestStore_Filter_IsNotAskedUntilAllKeysAreInIt(t *testing.T) {
	const n = 30
	s := openStill(t, largeFile(t, n), nil)
	steps := 0
	for s.Stats().Scrub.Ended.IsZero() {
		s.scrubStep(t)
		steps++
		if _, err := kv.One(t.Context(), s, kv.OpGet(largeKey(n-1))); err != nil {
			t.Fatalf("after %d steps of the scrub: %v", steps, err)
		}
	}
	if steps < 3 || s.filter.Load() == nil {
		t.Errorf("after %d steps the filter is %v", steps, s.filter.Load())
	}
}

// The key comes to the part of the tree that the scrub has passed.
func TestStore_Filter_HasKeysThatAreMovedBehindTheScrub(t *testing.T) {
	s := openStill(t, largeFile(t, 30), nil)
	s.scrubStep(t)
	need(kv.One(t.Context(), s, kv.OpSet("a", []byte("1"))))
	must(s.moveTable(s.filling, s.log, func(*state) {}))
	for s.Stats().Scrub.Ended.IsZero() {
		s.scrubStep(t)
	}
	if got := s.filter.Load().Lacks("a"); got {
		t.Error("the filter lacks a key that was moved while it was filled")
	}
}

func TestStore_Filter_IsNoneOfMoreKeysThanItMayHaveRoomFor(t *testing.T) {
	s := openStill(t, largeFile(t, 3), func(s *Store) { s.limits.spare, s.limits.filter = 0, 5 })
	s.scrubStep(t)
	if s.Stats().Scrub.Ended.IsZero() || s.filter.Load() != nil {
		t.Errorf("the scrub found %+v, and the filter is %v", s.Stats().Scrub, s.filter.Load())
	}
	if _, err := kv.One(t.Context(), s, kv.OpGet("absent")); !errors.Is(err, kv.ErrNotFound) {
		t.Error(err)
	}
	if got := s.limits.newFilter(2); got == nil {
		t.Error("a tree of 2 keys has no filter, with 5 bytes for 3")
	}
}
