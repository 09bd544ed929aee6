package boltkv

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/shelf"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// counting is a folder that counts what is asked of it.
type counting struct {
	*shelf.Shelf
	mu    sync.Mutex
	asked map[string]int
}

func (f *counting) count(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[what]++
}

func (f *counting) PutNew(ctx context.Context, name string, from io.Reader) error {
	f.count("put")
	return f.Shelf.PutNew(ctx, name, from)
}

func (f *counting) Put(ctx context.Context, name string, from io.Reader) error {
	f.count("put")
	return f.Shelf.Put(ctx, name, from)
}

func (f *counting) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	f.count("get")
	return f.Shelf.Get(ctx, name)
}

func (f *counting) List(ctx context.Context, begin string) ([]string, error) {
	f.count("list")
	return f.Shelf.List(ctx, begin)
}

// during returns what is asked of f in a time.
func (f *counting) during(d time.Duration) map[string]int {
	f.mu.Lock()
	f.asked = make(map[string]int)
	f.mu.Unlock()
	time.Sleep(d)
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asked
}

// followIn follows a store, of which change has changed the limits, in the time of a bubble.
func followIn(t *testing.T, opts Options, change func(*limits)) (*Store, *counting) {
	t.Helper()
	s, err := openWith(filepath.Join(t.TempDir(), "store.db"), opts, func(s *Store) { change(&s.limits) })
	if err != nil {
		t.Fatal(err)
	}
	folder := &counting{Shelf: new(shelf.Shelf), asked: map[string]int{}}
	ended := make(chan error, 1)
	go func() { ended <- s.Follow(context.Background(), folder) }()
	t.Cleanup(func() {
		if err := errors.Join(s.Close(), <-ended); err != nil {
			t.Error(err)
		}
	})
	folder.during(time.Minute)
	return s, folder
}

func TestStore_Follow_AnIdleStorePutsNothingAndLooksRarely(t *testing.T) {
	for strict, gets := range map[bool]int{false: 2, true: 22} {
		synctest.Test(t, func(t *testing.T) {
			s, folder := followIn(t, Options{Strict: strict}, func(*limits) {})
			if _, err := kv.One(t.Context(), s, kv.OpSet("key", []byte("value"))); err != nil {
				t.Fatal(err)
			}
			// The commit, and 5 seconds later the end of its log: a piece and a head of each.
			if got := folder.during(9 * time.Second)["put"]; got != 4 {
				t.Errorf("strict %t: want 4 puts for a commit and the end of its log, got %d", strict, got)
			}
			if diff := cmp.Diff(map[string]int{"get": gets}, folder.during(10*time.Second)); diff != "" {
				t.Errorf("strict %t: asked of the folder in 10 seconds mismatch (-want +got):\n%s", strict, diff)
			}
			if behind := time.Since(s.Stats().Shipping.Shipped); behind > time.Second {
				t.Errorf("strict %t: all is shipped, and Stats says that it was %v ago", strict, behind)
			}
			folder.SetAway(true)
			folder.during(11 * time.Second)
			if err := s.Stats().Shipping.Trouble; !errors.Is(err, shelf.ErrAway) {
				t.Errorf("strict %t: the folder is away, and Stats says %v", strict, err)
			}
			folder.SetAway(false)
		})
	}
}

func TestStore_Follow_NoSnapshotIsTakenOfWhatDidNotChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, folder := followIn(t, Options{}, func(l *limits) { l.ship, l.tick = time.Hour, time.Hour })
		if got := folder.during(2 * 24 * time.Hour)["put"]; got > 0 {
			t.Errorf("%d puts in two days without a commit", got)
		}
		if _, err := kv.One(t.Context(), s, kv.OpSet("key", []byte("value"))); err != nil {
			t.Fatal(err)
		}
		before := s.Stats().Shipping.Snapshot
		folder.during(2 * 24 * time.Hour) // The end of the log counts as a change, a day later.
		if after := s.Stats().Shipping.Snapshot; after.Sub(before) < 2*24*time.Hour {
			t.Errorf("the snapshot is of %v, and after a commit still of %v", before, after)
		}
		if got := folder.during(2 * 24 * time.Hour)["put"]; got > 0 {
			t.Errorf("%d puts in two more days without a commit", got)
		}
	})
}
