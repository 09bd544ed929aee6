package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// findsOrSays fails if the index says that no note has value.
func (v *release) findsOrSays(t *testing.T, name, value, id string) {
	t.Helper()
	got, err := v.by[name].Find(t.Context(), value)
	if !errors.Is(err, kvmodel.ErrNeedsRebuild) && (err != nil || got.ID != id) {
		t.Errorf("%s of %q is %v, %v; want %s, or ErrNeedsRebuild", name, value, got, err, id)
	}
}

func TestReleases_AnOldOneThatStartsDuringARebuildMakesItBeginAgain(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := shared{plain(mem)}
		old := deploy(t, s)
		for i := range 120 {
			must(t, old.Create(ctx, &note{ID: fmt.Sprint(i), Text: "x", Code: fmt.Sprint("c", i)}))
		}
		old.undeploy(t)
		var once sync.Once
		next := deploy(t, tamper(s, func(ctx context.Context, ops []kv.Op, do func([]kv.Op) error) error {
			if ops[0].Key != "r:Note:0" && ops[len(ops)-1].Key != "r:Note:0" {
				return do(ops)
			}
			err := do(ops)
			once.Do(func() {
				old = deploy(t, s)
				must(t, old.Create(ctx, &note{ID: "during", Text: "x", Code: "cd"}))
				_, err := old.Update(ctx, "0", func(n *note) error { n.Code = "changed"; return nil })
				must(t, err)
				time.AfterFunc(5*time.Second, func() { old.undeploy(t) })
			})
			return err
		}), "Code")
		must(t, next.Rebuild(ctx))
		next.finds(t, "Code", "cd", "during")
		next.finds(t, "Code", "changed", "0")
		next.undeploy(t)
	})
}

func TestReleases_ARunningReaderNoticesAnOldOneThatStarts(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := shared{plain(mem)}
		next := deploy(t, s, "Code")
		must(t, next.Create(ctx, &note{ID: "a", Text: "x", Code: "ca"}))
		time.Sleep(time.Minute)
		next.finds(t, "Code", "ca", "a")
		old := deploy(t, s)
		must(t, old.Create(ctx, &note{ID: "b", Text: "x", Code: "cb"}))
		next.findsOrSays(t, "Code", "cb", "b")
		second := deploy(t, s)
		must(t, second.Create(ctx, &note{ID: "c", Text: "x", Code: "cc"}))
		next.findsOrSays(t, "Code", "cc", "c")
		old.undeploy(t)
		second.undeploy(t)
		must(t, next.Rebuild(ctx))
		next.finds(t, "Code", "cc", "c")
		next.undeploy(t)
	})
}

func TestReleases_OldOnesThatStartTogetherAllWaitForTheReaders(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := shared{plain(mem)}
		next := deploy(t, s, "Code")
		must(t, next.Create(ctx, &note{ID: "a", Text: "x", Code: "ca"}))
		var all sync.WaitGroup
		for i := range 3 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				next.finds(t, "Code", "ca", "a")
				old := deploy(t, s)
				must(t, old.Create(ctx, &note{ID: fmt.Sprint(i), Text: "x", Code: fmt.Sprint("c", i)}))
				next.findsOrSays(t, "Code", fmt.Sprint("c", i), fmt.Sprint(i))
				old.undeploy(t)
			})
		}
		all.Wait()
		next.undeploy(t)
	})
}

func TestReleases_AnOldOneThatHasSleptLooksBeforeItWrites(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := shared{plain(mem)}
		old := deploy(t, s)
		must(t, old.Create(ctx, &note{ID: "a", Text: "x", Code: "ca"}))
		time.Sleep(time.Minute)
		next := deploy(t, s, "Code")
		must(t, next.Rebuild(ctx))
		next.finds(t, "Code", "ca", "a")
		_, err := old.Update(ctx, "a", func(n *note) error { n.Code = "changed"; return nil })
		must(t, err)
		must(t, old.Create(ctx, &note{ID: "b", Text: "x", Code: "cb"}))
		next.findsOrSays(t, "Code", "changed", "a")
		next.findsOrSays(t, "Code", "cb", "b")
		old.undeploy(t)
		next.undeploy(t)
	})
}

func TestReleases_WhatAnOldOneHasUnderWayAsItFallsAsleepIsFenced(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := shared{plain(mem)}
		asleep := make(chan struct{})
		var sleeps bool
		var mu sync.Mutex
		old := deploy(t, tamper(s, func(_ context.Context, ops []kv.Op, do func([]kv.Op) error) error {
			mu.Lock()
			for _, op := range ops {
				sleeps = sleeps || op.Kind == kv.CompareAndSwap && op.Key == "r:Note:a"
			}
			waits := sleeps
			mu.Unlock()
			if waits {
				<-asleep
			}
			return do(ops)
		}))
		must(t, old.Create(ctx, &note{ID: "a", Text: "x", Code: "ca"}))
		time.Sleep(time.Minute) // No line is left of it, whose repair would fence the record.
		done := make(chan error)
		go func() {
			_, err := old.Update(ctx, "a", func(n *note) error { n.Code = "changed"; return nil })
			done <- err
		}()
		time.Sleep(time.Minute)
		next := deploy(t, s, "Code")
		must(t, next.Rebuild(ctx))
		next.finds(t, "Code", "ca", "a")
		close(asleep)
		must(t, <-done)
		next.findsOrSays(t, "Code", "changed", "a")
		old.undeploy(t)
		next.undeploy(t)
	})
}

func TestReleases_ARepairLeavesLinesOfIndexesItDoesNotKnow(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, mem *memkv.Store) {
		s := shared{plain(mem)}
		life := &mortal{Store: s}
		next := deploy(t, life, "Code")
		must(t, next.Create(ctx, &note{ID: "a", Text: "x", Code: "ca"}))
		must(t, next.db.Flush(ctx))
		life.kill()
		old := deploy(t, s)
		for range 4 {
			must(t, old.db.Repair(ctx))
			time.Sleep(time.Minute)
		}
		time.Sleep(3 * time.Hour)
		for range 4 {
			must(t, old.db.Repair(ctx))
			time.Sleep(time.Minute)
		}
		if n := keysWith(mem, "out:"); n != 1 {
			t.Errorf("%d journals, want that of the release with the index", n)
		}
		again := deploy(t, s, "Code")
		for range 2 {
			time.Sleep(time.Minute)
			must(t, again.db.Repair(ctx))
			time.Sleep(2 * time.Hour)
			must(t, again.db.Repair(ctx))
		}
		time.Sleep(time.Minute)
		must(t, again.db.Repair(ctx))
		if n := keysWith(mem, "out:"); n != 0 {
			t.Errorf("%d journals after a repair by a release with the index", n)
		}
		again.finds(t, "Code", "ca", "a")
		again.undeploy(t)
		old.undeploy(t)
		_ = next.db.Close(ctx)
	})
}
