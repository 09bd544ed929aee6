package boltkv

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/boltkv/internal/commitlog"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// startShip ships s to a folder, until end closes it.
func startShip(t *testing.T, s *Store, to Folder) (end func()) {
	ended := make(chan error, 1)
	go func() { ended <- s.Ship(context.Background(), to) }()
	return func() {
		t.Helper()
		proof.Is(t, errors.Join(s.Close(), <-ended), nil)
	}
}

func shipIn(t *testing.T, change func(*limits)) (*Store, *shelf) {
	t.Helper()
	s, folder := need(openWith(filepath.Join(t.TempDir(), "store.db"), Options{}, func(s *Store) { change(&s.limits) })), new(shelf)
	t.Cleanup(startShip(t, s, folder))
	folder.during(time.Minute)
	return s, folder
}

func TestStore_Ship_AnIdleStoreSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, folder := shipIn(t, func(*limits) {})
		need(kv.One(t.Context(), s, kv.OpSet("key", []byte("value"))))
		// A look at the folder, and the piece. The end of the log, 5 seconds later, is none.
		proof.NoDiff(t, cmp.Diff(map[string]int{"get": 1, "put": 1}, folder.during(9*time.Second)), "asked of the folder for a commit")
		proof.NoDiff(t, cmp.Diff(map[string]int(nil), folder.during(time.Hour)), "asked of the folder in an idle hour")
		if behind := time.Since(s.Stats().Shipping.Shipped); behind > time.Second {
			t.Errorf("all is shipped, and Stats says that it was %v ago", behind)
		}
	})
}

func TestStore_Ship_ASecondLaterACommitCanBeRestored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, folder := shipIn(t, func(*limits) {})
		for i := range 5 {
			key := strconv.Itoa(i)
			need(kv.One(t.Context(), s, kv.OpSet(key, nil)))
			time.Sleep(time.Second)
			path := filepath.Join(t.TempDir(), "restored.db")
			need(Restore(t.Context(), folder, time.Time{}, path))
			restored := need(Open(path, Options{}))
			if _, err := kv.One(t.Context(), restored, kv.OpGet(key)); err != nil {
				t.Errorf("a second after commit %d: %v", i, err)
			}
			must(restored.Close())
		}
	})
}

func TestStore_Ship_AfterAnHourOfTroubleAllIsInTheFolder(t *testing.T) {
	for what, put := range map[string]func(ctx context.Context, name string, from io.Reader) error{
		"gone":     func(context.Context, string, io.Reader) error { return errAway },
		"refusing": func(context.Context, string, io.Reader) error { return fs.ErrPermission },
		"full": func(_ context.Context, _ string, from io.Reader) error {
			_, _ = io.CopyN(io.Discard, from, 100)
			return syscall.ENOSPC
		},
		"stalling": func(ctx context.Context, _ string, from io.Reader) error {
			<-ctx.Done()
			return ctx.Err()
		},
		"slow": func(context.Context, string, io.Reader) error { time.Sleep(20 * time.Second); return nil },
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := need(Open(filepath.Join(t.TempDir(), "store.db"), Options{}))
				var well atomic.Bool
				folder := &shelf{put: func(ctx context.Context, name string, from io.Reader) error {
					if well.Load() {
						return nil
					}
					return put(ctx, name, from)
				}}
				end := startShip(t, s, folder)
				var made []time.Time
				for n := range 60 {
					need(kv.One(t.Context(), s, kv.OpSet("n", []byte(strconv.Itoa(n)))))
					made = append(made, time.Now())
					time.Sleep(time.Minute)
				}
				if err := s.Stats().Shipping.Trouble; err == nil && what != "slow" {
					t.Error("Stats says of no trouble")
				}
				well.Store(true)
				time.Sleep(5 * time.Minute)
				if now := s.Stats().Shipping; now.Trouble != nil || now.Spoiled != nil || time.Since(now.Shipped) > time.Minute {
					t.Errorf("the folder is well again, and Stats says %+v", now)
				}
				end()
				path := filepath.Join(t.TempDir(), "restored.db")
				done := need(Restore(t.Context(), folder, time.Time{}, path))
				again := need(Open(path, Options{}))
				if got, err := kv.One(t.Context(), again, kv.OpGet("n")); string(got.Value) != "59" || done.Known.Before(made[59]) {
					t.Errorf("restored: want 59, got %q, %v; %+v", got.Value, err, done)
				}
				closes(t, again)
			})
		})
	}
}

func TestStore_Ship_ASnapshotThatTakesTooLongIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := need(Open(filepath.Join(t.TempDir(), "store.db"), Options{}))
		deaf := make(chan struct{}) // It does not hear that it is to end.
		end := startShip(t, s, &shelf{put: func(_ context.Context, name string, _ io.Reader) error {
			if strings.HasPrefix(name, snapshotBegin) {
				<-deaf
			}
			return nil
		}})
		time.Sleep(6*time.Hour + 30*time.Second)
		if err := s.Stats().Shipping.Spoiled; err == nil || !strings.Contains(err.Error(), "takes longer than 6h") {
			t.Errorf("want an error that says so, got %v", err)
		}
		s.mu.RLock()
		proof.Equal(t, len(s.holds), 1, "logs are held")
		s.mu.RUnlock()
		close(deaf)
		end()
	})
}

func TestStore_Ship_NoSnapshotIsTakenOfWhatDidNotChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, folder := shipIn(t, func(l *limits) { l.ship, l.tick = time.Hour, time.Hour })
		if got := folder.during(2 * 24 * time.Hour)["put"]; got > 0 {
			t.Errorf("%d puts in two days without a commit", got)
		}
		need(kv.One(t.Context(), s, kv.OpSet("key", []byte("value"))))
		before := s.Stats().Shipping.Snapshot
		folder.during(2 * 24 * time.Hour)
		if after := s.Stats().Shipping.Snapshot; after.Sub(before) < 2*24*time.Hour {
			t.Errorf("the snapshot is of %v, and after a commit still of %v", before, after)
		}
		if got := folder.during(2 * 24 * time.Hour)["put"]; got > 0 {
			t.Errorf("%d puts in two more days without a commit", got)
		}
	})
}

func TestStore_Ship_ShipsNoCommitThatACrashCouldTakeFromTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := newHanging()
		s := need(openWith(filepath.Join(t.TempDir(), "store.db"), Options{Durability: Unsynced}, func(s *Store) {
			s.disk, s.limits.idle = disk, 24*time.Hour
		}))
		synced := make(map[string]uint64)
		folder := &shelf{put: func(_ context.Context, name string, _ io.Reader) error {
			if strings.HasPrefix(name, pieceBegin) {
				synced[name] = s.durable.Load()
			}
			return nil
		}}
		end := startShip(t, s, folder)
		time.Sleep(time.Minute)
		disk.hangUp(t, s, "first")
		set(t, s, "second") // It is visible, and the sync in progress may miss it.
		disk.release(nil)
		time.Sleep(time.Minute)
		end()
		to := &history{Folder: folder}
		for _, first := range need(to.pieces(t.Context())) {
			name := pieceName(first)
			end := need(to.each(t.Context(), name, first, func(commitlog.Record) error { return nil }))
			if synced[name] < end.Seq {
				t.Errorf("commits up to %d are shipped, and those up to %d are synced", end.Seq, synced[name])
			}
		}
		if len(synced) == 0 {
			t.Error("no piece was shipped")
		}
	})
}
