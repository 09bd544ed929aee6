package memcachekv_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memcachekv"
)

func TestStore_ARestartedServer_IsLostUntilAccepted(t *testing.T) {
	f, other := newFake(t), newFake(t)
	s := open(t, memcachekv.Options{}, f.Addr, other.Addr)
	ctx := t.Context()
	key, elsewhere := keyOn(s, f.Addr), keyOn(s, other.Addr)
	one(t, ctx, s, kvmodel.OpSet(key, []byte("v")))
	one(t, ctx, s, kvmodel.OpSet(elsewhere, []byte("v")))
	old := one(t, ctx, s, kvmodel.OpGet(key)).Version

	f.Restart()
	for range 2 {
		one(t, ctx, s, kvmodel.OpGet(key), kvmodel.ErrLost)
		one(t, ctx, s, kvmodel.OpAdd(key, nil), kvmodel.ErrLost)
		one(t, ctx, s, kvmodel.OpGet(elsewhere))
	}
	if _, err := kvmodel.GetAll(ctx, s, key, key+"x", elsewhere); !errors.Is(err, kvmodel.ErrLost) {
		t.Errorf("many gets ended in %v, want ErrLost", err)
	}

	if err := s.Accept(ctx); err != nil {
		t.Fatal(err)
	}
	one(t, ctx, s, kvmodel.OpGet(key), kvmodel.ErrNotFound)
	one(t, ctx, s, kvmodel.OpSet(key, []byte("new")))
	// The server counts its versions from the start, so these would be equal.
	one(t, ctx, s, kvmodel.OpSwap(key, old, nil), kvmodel.ErrConflict)
	one(t, ctx, s, kvmodel.OpSwap(key, one(t, ctx, s, kvmodel.OpGet(key)).Version, nil))

	f.Restart()
	one(t, ctx, s, kvmodel.OpGet(key), kvmodel.ErrLost)
}

func TestStore_AWriteOnAConnectionARestartBroke_IsUnclearAndTheNextIsLost(t *testing.T) {
	f := newFake(t)
	s := open(t, memcachekv.Options{}, f.Addr)
	one(t, t.Context(), s, kvmodel.OpSet("k", nil))
	f.Restart()
	r, _ := kvmodel.One(t.Context(), s, kvmodel.OpAdd("k", nil))
	if !errors.Is(r.Err, kvmodel.ErrUnclear) && !errors.Is(r.Err, kvmodel.ErrUnavailable) {
		t.Errorf("the write ended in %v", r.Err)
	}
	one(t, t.Context(), s, kvmodel.OpAdd("k", nil), kvmodel.ErrLost)
}

func TestStore_AForgetfulServer_IsFoundLostWhenTheNumberIsLookedAtAgain(t *testing.T) {
	for name, key := range map[string]string{"flushed": "", "boot number evicted": "ringtree{boot}"} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			s := open(t, memcachekv.Options{}, f.Addr)
			one(t, t.Context(), s, kvmodel.OpSet("k", nil))
			f.Forget(key)
			s.AgeLooks()
			one(t, t.Context(), s, kvmodel.OpGet("k"), kvmodel.ErrLost)
		})
	}
}

func TestStore_ALossThatAnotherProcessMetFirst_IsALossHere(t *testing.T) {
	f := newFake(t)
	s, other := open(t, memcachekv.Options{}, f.Addr), open(t, memcachekv.Options{}, f.Addr)
	ctx := t.Context()
	one(t, ctx, s, kvmodel.OpSet("k", nil))
	f.Restart()
	one(t, ctx, other, kvmodel.OpGet("k"), kvmodel.ErrNotFound)
	one(t, ctx, s, kvmodel.OpGet("k"), kvmodel.ErrLost)
	if err := s.Accept(ctx); err != nil {
		t.Fatal(err)
	}
	// Both know it by the same number now, so their versions are the same.
	one(t, ctx, other, kvmodel.OpSet("k", nil))
	version := one(t, ctx, other, kvmodel.OpGet("k")).Version
	one(t, ctx, s, kvmodel.OpSwap("k", version, nil))
}

func TestStore_ManyClientsThatMeetAServerAtOnce_AgreeOnItsNumber(t *testing.T) {
	f := newFake(t)
	var wg sync.WaitGroup
	for i := range 30 {
		s := open(t, memcachekv.Options{}, f.Addr)
		for j := range 3 {
			wg.Go(func() {
				if _, err := kvmodel.One(t.Context(), s, kvmodel.OpSet(fmt.Sprintf("k%d.%d", i, j), nil)); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
}

func TestStore_Accept_LeavesAloneWhatNobodyWasToldOf(t *testing.T) {
	f := newFake(t)
	s := open(t, memcachekv.Options{}, f.Addr)
	ctx := t.Context()
	one(t, ctx, s, kvmodel.OpSet("k", nil))
	f.Restart()
	if err := s.Accept(ctx); err != nil {
		t.Fatal(err)
	}
	one(t, ctx, s, kvmodel.OpGet("k"), kvmodel.ErrLost)
}

func TestStore_Accept_OfAServerThatDoesNotAnswer_IsUnavailable(t *testing.T) {
	f := newFake(t)
	s := open(t, memcachekv.Options{}, f.Addr)
	one(t, t.Context(), s, kvmodel.OpSet("k", nil))
	f.Restart()
	one(t, t.Context(), s, kvmodel.OpGet("k"), kvmodel.ErrLost)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Accept(ctx); !errors.Is(err, kvmodel.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("Accept returned %v, want ErrUnavailable and why", err)
	}
	one(t, t.Context(), s, kvmodel.OpGet("k"), kvmodel.ErrLost)
}
