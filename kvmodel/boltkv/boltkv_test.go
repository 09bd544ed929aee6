package boltkv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// The mover changes these in its own time.
var unmoved = cmpopts.IgnoreFields(Stats{}, "Unmoved", "Scrub", "Committing")

func open(t testing.TB, opts Options) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "store.db"), opts)
}

func openAt(t testing.TB, path string, opts Options) *Store {
	t.Helper()
	s, err := Open(path, opts)
	must(err)
	t.Cleanup(func() {
		closes(t, s)
	})
	return s
}

func one(t testing.TB, s kv.Store, op kv.Op) kv.Result {
	t.Helper()
	r, err := kv.One(context.Background(), s, op)
	must(err)
	return r
}

// wantErr fails the test unless err wraps all of want.
func wantErr(t testing.TB, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		proof.Is(t, err, w)
	}
}

func wantGone(t testing.TB, s kv.Store, key string) {
	t.Helper()
	proof.Ends(t, kv.ErrNotFound)(kv.One(context.Background(), s, kv.OpGet(key)))
}

// holdTurn lets an atomic change hold the store until release is called.
func holdTurn(t testing.TB, s *Store) (release func()) {
	t.Helper()
	held, free, over := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		over <- s.Powers().Atomic(context.Background(), func(kv.Store) error {
			close(held)
			<-free
			return nil
		})
	}()
	<-held
	return sync.OnceFunc(func() {
		close(free)
		if err := <-over; err != nil {
			t.Error(err)
		}
	})
}

func TestStore_Do_VersionsThatACrashTookBackAreNotGivenAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	seen := make(map[kv.Version]bool)
	must(openAt(t, path, Options{}).Close())
	synced := need(os.ReadFile(path))
	for range 3 {
		must(os.WriteFile(path, synced, 0o600))
		s := openAt(t, path, Options{Durability: Unsynced})
		one(t, s, kv.OpSet("key", nil))
		version := one(t, s, kv.OpGet("key")).Version
		if seen[version] {
			t.Errorf("version %d was given twice", version)
		}
		seen[version] = true
		must(s.Close())
	}
}

func TestStore_Do_LoneWriterCommitsEachChangingTripAtOnce(t *testing.T) {
	s := open(t, Options{})
	began := time.Now()
	proof.Ends(t, kv.ErrNotFound)(kv.One(t.Context(), s, kv.OpDelete("absent")))
	for i := range uint64(5) {
		must(s.Do(t.Context(), []kv.Op{kv.OpSet("a", nil), kv.OpSet("b", nil)}))
		want := Stats{Commits: i + 1, Trips: i + 2, Ops: 2*i + 3}
		proof.NoDiff(t, cmp.Diff(want, s.Stats(), unmoved), "Stats after %d trips", i+1)
	}
	took := time.Since(began)
	if d := s.Powers().Disk(); d.Commits != 5 || d.Committing <= 0 || d.Committing > took || d.Trouble != nil {
		t.Errorf("want 5 commits in up to %v and no trouble, got %+v", took, d)
	}
}

func TestStore_Do_WhatGathersIsOneCommit(t *testing.T) {
	s := open(t, Options{})
	release := holdTurn(t, s)
	var writers sync.WaitGroup
	for i := range 50 {
		writers.Go(func() {
			if i%2 == 0 {
				need(kv.One(context.Background(), s, kv.OpSet(fmt.Sprint("k", i), nil)))
				return
			}
			must(s.Powers().Atomic(context.Background(), func(s kv.Store) error {
				_, err := kv.One(context.Background(), s, kv.OpSet(fmt.Sprint("k", i), nil))
				return err
			}))
		})
	}
	// By then all of them wait for their turn.
	time.Sleep(time.Second)
	release()
	writers.Wait()
	want := Stats{Commits: 1, Trips: 51, Ops: 50}
	proof.NoDiff(t, cmp.Diff(want, s.Stats(), unmoved), "Stats")
}

func TestStore_Do_CanceledBeforeItsTurnIsNotCarriedOut(t *testing.T) {
	s := open(t, Options{})
	release := holdTurn(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := kv.One(ctx, s, kv.OpSet("late", nil))
	wantErr(t, err, kv.ErrUnavailable, context.DeadlineExceeded)
	err = s.Powers().Atomic(ctx, func(kv.Store) error { t.Error("the function ran"); return nil })
	wantErr(t, err, kv.ErrUnavailable, context.DeadlineExceeded)
	if took := time.Since(start); took > time.Minute {
		t.Errorf("it took %v to return after 20ms", took)
	}
	release()
	wantGone(t, s, "late")
}

func TestStore_Atomic_ContextThatEndsInsideDropsTheChange(t *testing.T) {
	s := open(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	err := s.Powers().Atomic(ctx, func(s kv.Store) error {
		one(t, s, kv.OpSet("before", nil))
		cancel()
		_, err := kv.One(ctx, s, kv.OpSet("after", nil))
		wantErr(t, err, kv.ErrUnavailable, context.Canceled)
		return nil
	})
	wantErr(t, err, kv.ErrUnavailable, context.Canceled)
	wantGone(t, s, "before")
	wantGone(t, s, "after")
}

func TestStore_Atomic_GoexitLeavesTheStoreToOthers(t *testing.T) {
	s := open(t, Options{})
	var exiting sync.WaitGroup
	exiting.Go(func() {
		_ = s.Powers().Atomic(context.Background(), func(kv.Store) error {
			runtime.Goexit()
			return nil
		})
	})
	exiting.Wait()
	one(t, s, kv.OpSet("next", nil))
}

func TestStore_Close_LeavesNoGoroutineAndAnswersUnavailable(t *testing.T) {
	before := runtime.NumGoroutine()
	s := open(t, Options{Durability: Periodic})
	one(t, s, kv.OpSet("key", nil))
	must(errors.Join(s.Close(), s.Close()))
	for _, op := range []kv.Op{kv.OpGet("key"), kv.OpSet("key", nil)} {
		proof.Ends(t, kv.ErrUnavailable)(kv.One(t.Context(), s, op))
	}
	wantErr(t, s.Powers().Atomic(t.Context(), func(kv.Store) error { return nil }), kv.ErrUnavailable)
	for range 6000 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines after Close, %d before Open", runtime.NumGoroutine(), before)
}
