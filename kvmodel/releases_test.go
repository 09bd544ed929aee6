package kvmodel_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// findsOrSays fails if the index reports that no note has value.
func (v *release) findsOrSays(t *testing.T, name, value, id string) {
	t.Helper()
	got, err := v.by[name].Find(t.Context(), value)
	if !errors.Is(err, kvmodel.ErrNeedsRebuild) && (err != nil || got.ID != id) {
		t.Errorf("%s of %q is %v, %v; want %s, or ErrNeedsRebuild", name, value, got, err, id)
	}
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
		time.Sleep(time.Minute) // Then no line of it is left, whose repair would fence the record.
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
