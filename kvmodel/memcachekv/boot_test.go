package memcachekv_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
)

func TestStore_ARestartedServer_IsLostUntilAccepted(t *testing.T) {
	f, other := newFake(t), newFake(t)
	s := open(t, memcachekv.Options{}, f.Addr, other.Addr)
	ctx := t.Context()
	key, elsewhere := keyOn(s, f.Addr), keyOn(s, other.Addr)
	one(t, ctx, s, kv.OpSet(key, []byte("v")))
	one(t, ctx, s, kv.OpSet(elsewhere, []byte("v")))
	old := one(t, ctx, s, kv.OpGet(key)).Version

	f.Restart()
	for range 2 {
		one(t, ctx, s, kv.OpGet(key), kv.ErrLost)
		one(t, ctx, s, kv.OpAdd(key, nil), kv.ErrLost)
		one(t, ctx, s, kv.OpGet(elsewhere))
	}
	if _, err := kv.GetAll(ctx, s, key, key+"x", elsewhere); !errors.Is(err, kv.ErrLost) {
		t.Errorf("many gets ended in %v, want ErrLost", err)
	}

	if err := s.Accept(ctx); err != nil {
		t.Fatal(err)
	}
	one(t, ctx, s, kv.OpGet(key), kv.ErrNotFound)
	one(t, ctx, s, kv.OpSet(key, []byte("new")))
	// The server numbers its versions from the start, so these would be equal.
	one(t, ctx, s, kv.OpSwap(key, old, nil), kv.ErrConflict)
	one(t, ctx, s, kv.OpSwap(key, one(t, ctx, s, kv.OpGet(key)).Version, nil))

	f.Restart()
	one(t, ctx, s, kv.OpGet(key), kv.ErrLost)
}

func TestStore_AWriteOnAConnectionARestartBroke_IsUnclearAndTheNextIsLost(t *testing.T) {
	f := newFake(t)
	s := open(t, memcachekv.Options{}, f.Addr)
	one(t, t.Context(), s, kv.OpSet("k", nil))
	f.Restart()
	r, _ := kv.One(t.Context(), s, kv.OpAdd("k", nil))
	if !errors.Is(r.Err, kv.ErrUnclear) && !errors.Is(r.Err, kv.ErrUnavailable) {
		t.Errorf("the write ended in %v", r.Err)
	}
	one(t, t.Context(), s, kv.OpAdd("k", nil), kv.ErrLost)
}

func TestStore_AForgetfulServer_IsFoundLostWhenTheNumberIsLookedAtAgain(t *testing.T) {
	for name, key := range map[string]string{"flushed": "", "boot number evicted": "ringtree{boot}"} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			s := open(t, memcachekv.Options{}, f.Addr)
			one(t, t.Context(), s, kv.OpSet("k", nil))
			f.Forget(key)
			s.AgeLooks()
			one(t, t.Context(), s, kv.OpGet("k"), kv.ErrLost)
		})
	}
}

func TestStore_ALossThatAnotherProcessMetFirst_IsALossHere(t *testing.T) {
	f := newFake(t)
	s, other := open(t, memcachekv.Options{}, f.Addr), open(t, memcachekv.Options{}, f.Addr)
	ctx := t.Context()
	one(t, ctx, s, kv.OpSet("k", nil))
	f.Restart()
	one(t, ctx, other, kv.OpGet("k"), kv.ErrNotFound)
	one(t, ctx, s, kv.OpGet("k"), kv.ErrLost)
	if err := s.Accept(ctx); err != nil {
		t.Fatal(err)
	}
	// Both now know it by the same number, so their versions are the same.
	one(t, ctx, other, kv.OpSet("k", nil))
	version := one(t, ctx, other, kv.OpGet("k")).Version
	one(t, ctx, s, kv.OpSwap("k", version, nil))
}

func TestStore_ManyClientsThatMeetAServerAtOnce_AgreeOnItsNumber(t *testing.T) {
	f := newFake(t)
	var wg sync.WaitGroup
	for i := range 30 {
		s := open(t, memcachekv.Options{}, f.Addr)
		for j := range 3 {
			wg.Go(func() {
				if _, err := kv.One(t.Context(), s, kv.OpSet(fmt.Sprintf("k%d.%d", i, j), nil)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
}

func TestStore_Accept_LeavesAloneWhatNoOperationHasSeen(t *testing.T) {
	f := newFake(t)
	s := open(t, memcachekv.Options{}, f.Addr)
	ctx := t.Context()
	one(t, ctx, s, kv.OpSet("k", nil))
	f.Restart()
	if err := s.Accept(ctx); err != nil {
		t.Fatal(err)
	}
	one(t, ctx, s, kv.OpGet("k"), kv.ErrLost)
}

func TestStore_Accept_OfAServerThatDoesNotAnswer_IsUnavailable(t *testing.T) {
	f := newFake(t)
	s := open(t, memcachekv.Options{}, f.Addr)
	one(t, t.Context(), s, kv.OpSet("k", nil))
	f.Restart()
	one(t, t.Context(), s, kv.OpGet("k"), kv.ErrLost)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Accept(ctx); !errors.Is(err, kv.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("Accept returned %v, want ErrUnavailable and why", err)
	}
	one(t, t.Context(), s, kv.OpGet("k"), kv.ErrLost)
}
