package memcachekv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestStore_ARestartedServer_IsLostUntilAccepted(t *testing.T) {
	bothWays(t, func(t *testing.T, opts Options) {
		f, other := newFake(t), newFake(t)
		s := open(t, opts, f.Addr, other.Addr)
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
		proof.Ends(t, kv.ErrLost)(kv.GetAll(ctx, s, key, key+"x", elsewhere))

		must(t, accept(t, s))
		one(t, ctx, s, kv.OpGet(key), kv.ErrNotFound)
		one(t, ctx, s, kv.OpSet(key, []byte("new")))
		// The server numbers its versions from the start, so these would be equal.
		one(t, ctx, s, kv.OpSwap(key, old, nil), kv.ErrConflict)
		one(t, ctx, s, kv.OpSwap(key, one(t, ctx, s, kv.OpGet(key)).Version, nil))

		f.Restart()
		one(t, ctx, s, kv.OpGet(key), kv.ErrLost)
	})
}

func TestStore_AWriteOnAConnectionARestartBroke_IsUnclearAndTheNextIsLost(t *testing.T) {
	bothWays(t, func(t *testing.T, opts Options) {
		f, s := inUse(t, opts)
		f.Restart()
		r, _ := kv.One(t.Context(), s, kv.OpAdd("k", nil))
		if !errors.Is(r.Err, kv.ErrUnclear) && !errors.Is(r.Err, kv.ErrUnavailable) {
			t.Errorf("the write ended in %v", r.Err)
		}
		one(t, t.Context(), s, kv.OpAdd("k", nil), kv.ErrLost)
	})
}

func TestStore_ALossThatAnotherProcessMetFirst_IsALossHere(t *testing.T) {
	f := newFake(t)
	s, other := open(t, Options{}, f.Addr), open(t, Options{}, f.Addr)
	ctx := t.Context()
	one(t, ctx, s, kv.OpSet("k", nil))
	f.Restart()
	one(t, ctx, other, kv.OpGet("k"), kv.ErrNotFound)
	one(t, ctx, s, kv.OpGet("k"), kv.ErrLost)
	must(t, accept(t, s))
	// Both now know it by the same number, so their versions are the same.
	one(t, ctx, other, kv.OpSet("k", nil))
	version := one(t, ctx, other, kv.OpGet("k")).Version
	one(t, ctx, s, kv.OpSwap("k", version, nil))
}

func TestStore_Accept_LeavesAloneWhatNoOperationHasSeen(t *testing.T) {
	f, s := inUse(t, Options{})
	ctx := t.Context()
	f.Restart()
	must(t, accept(t, s))
	one(t, ctx, s, kv.OpGet("k"), kv.ErrLost)
}

func TestStore_Accept_OfAServerThatDoesNotAnswer_IsUnavailable(t *testing.T) {
	f, s := inUse(t, Options{})
	f.Restart()
	one(t, t.Context(), s, kv.OpGet("k"), kv.ErrLost)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.memory.Accept(ctx); !errors.Is(err, kv.ErrUnavailable) || !errors.Is(err, context.Canceled) {
		t.Errorf("Accept returned %v, want ErrUnavailable and why", err)
	}
	one(t, t.Context(), s, kv.OpGet("k"), kv.ErrLost)
}

func accept(t *testing.T, s *Store) error {
	_, err := s.memory.Accept(t.Context())
	return err
}

// patient suits a busy machine.
var patient = Options{Timeout: time.Minute}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// twoServers returns a store in use on two servers, with a key on each.
func twoServers(t *testing.T) (a, b *fake, s *Store, onA, onB string) {
	t.Helper()
	a, b = newFake(t), newFake(t)
	s = open(t, patient, a.Addr, b.Addr)
	onA, onB = keyOn(s, a.Addr), keyOn(s, b.Addr)
	one(t, t.Context(), s, kv.OpSet(onA, []byte("v")))
	one(t, t.Context(), s, kv.OpSet(onB, []byte("v")))
	return a, b, s, onA, onB
}

func TestLoss_OfOneServerOfTwo_IsKnownToOneThatStartsLater(t *testing.T) {
	for name, lose := range map[string]func(*fake){
		"restarted":         func(f *fake) { f.Restart() },
		"flushed":           func(f *fake) { f.Forget("") },
		"boot item evicted": func(f *fake) { f.Forget("ringtree{b}") },
	} {
		t.Run(name, func(t *testing.T) {
			a, b, running, onA, onB := twoServers(t)
			lose(a)
			later := open(t, patient, b.Addr, a.Addr)
			for range 2 {
				r := one(t, t.Context(), later, kv.OpGet(onA), kv.ErrLost)
				proof.Contains(t, r.Err.Error(), a.Addr)
				one(t, t.Context(), later, kv.OpAdd(onA, nil), kv.ErrLost)
				one(t, t.Context(), later, kv.OpGet(onB))
			}
			running.memory.Doubt()
			one(t, t.Context(), running, kv.OpGet(onA), kv.ErrLost)
			one(t, t.Context(), running, kv.OpGet(onB))
		})
	}
}

func TestServers_AddedOrRemoved_NeedAnAcceptOnce(t *testing.T) {
	a, b, running, onA, onB := twoServers(t)
	c := newFake(t)
	for _, change := range []struct {
		says  string
		addrs []string
	}{
		{c.Addr + " was added", []string{a.Addr, b.Addr, c.Addr}},
		{b.Addr + " was removed", []string{a.Addr, c.Addr}},
	} {
		later := open(t, patient, change.addrs...)
		for range 2 {
			r := one(t, t.Context(), later, kv.OpGet(onA), kv.ErrLost)
			proof.Contains(t, r.Err.Error(), "the store has other servers: "+change.says)
		}
		accepted, err := later.memory.Accept(t.Context())
		proof.Is(t, err, nil)
		proof.NoDiff(t, cmp.Diff([]string{change.says}, accepted), "Accept")
		for _, addr := range change.addrs {
			one(t, t.Context(), later, kv.OpSet(keyOn(later, addr), nil))
		}
		one(t, t.Context(), open(t, patient, change.addrs...), kv.OpGet(keyOn(later, c.Addr)))
		// One that runs with the old URL learns it from the servers it has left.
		running.memory.Doubt()
		one(t, t.Context(), running, kv.OpGet(onA), kv.ErrLost)
		one(t, t.Context(), running, kv.OpGet(onB), kv.ErrLost)
	}
}

func TestServers_AddedAgain_MustBeFlushedFirst(t *testing.T) {
	a, b, _, _, onB := twoServers(t)
	alone := open(t, patient, a.Addr)
	one(t, t.Context(), alone, kv.OpGet(onB), kv.ErrLost)
	must(t, accept(t, alone))
	both := open(t, patient, a.Addr, b.Addr)
	one(t, t.Context(), both, kv.OpGet(onB), kv.ErrLost)
	if err := accept(t, both); !errors.Is(err, kv.ErrLost) || !strings.Contains(err.Error(), "flush it first") {
		t.Errorf("Accept returned %v, want that the server must be flushed first", err)
	}
	one(t, t.Context(), both, kv.OpGet(onB), kv.ErrLost)
	b.Forget("")
	must(t, accept(t, both))
	one(t, t.Context(), both, kv.OpGet(onB), kv.ErrNotFound)
}

func TestServers_OneAlone_MayHaveAnotherName(t *testing.T) {
	f := newFake(t)
	one(t, t.Context(), open(t, patient, f.Addr), kv.OpSet("k", nil))
	_, port, _ := strings.Cut(f.Addr, ":")
	one(t, t.Context(), open(t, patient, "localhost:"+port), kv.OpGet("k"))
}

func TestServers_ThatAreOne_AreRefused(t *testing.T) {
	f := newFake(t)
	_, port, _ := strings.Cut(f.Addr, ":")
	s := open(t, patient, f.Addr, "localhost:"+port)
	one(t, t.Context(), s, kv.OpGet(keyOn(s, "localhost:"+port)), kv.ErrLost)
}

func TestFirstStart_NeedsAllServers(t *testing.T) {
	a, b := newFake(t), newFake(t)
	b.Mute.Store(true)
	s := open(t, patient, a.Addr, b.Addr)
	one(t, soon(t), s, kv.OpSet(keyOn(s, a.Addr), nil), kv.ErrUnavailable)
	b.Mute.Store(false)
	one(t, t.Context(), s, kv.OpSet(keyOn(s, a.Addr), nil))
	b.Stop()
	later := open(t, patient, a.Addr, b.Addr)
	one(t, t.Context(), later, kv.OpGet(keyOn(s, a.Addr)))
	one(t, t.Context(), later, kv.OpGet(keyOn(s, b.Addr)), kv.ErrUnavailable)
}

func TestLoss_WhereNoOtherServerAnswers_IsUnavailable(t *testing.T) {
	a, b, _, onA, _ := twoServers(t)
	a.Restart()
	b.Mute.Store(true)
	later := open(t, patient, a.Addr, b.Addr)
	one(t, soon(t), later, kv.OpGet(onA), kv.ErrUnavailable)
	b.Mute.Store(false)
	one(t, t.Context(), later, kv.OpGet(onA), kv.ErrLost)
}

func TestLosses_AreToldOnce(t *testing.T) {
	a, _, s, onA, onB := twoServers(t)
	var told []string
	s.memory.Watch(func(servers []string, err error) {
		told = append(told, fmt.Sprint(servers[0] == a.Addr, len(servers), errors.Is(err, kv.ErrLost)))
	})
	a.Restart()
	for range 3 {
		one(t, t.Context(), s, kv.OpGet(onA), kv.ErrLost)
		one(t, t.Context(), s, kv.OpGet(onB))
	}
	if got := s.memory.Lost(); len(got) != 1 || !errors.Is(got[0], kv.ErrLost) {
		t.Errorf("Lost returned %v, want one ErrLost", got)
	}
	must(t, accept(t, s))
	one(t, t.Context(), s, kv.OpGet(onA), kv.ErrNotFound)
	proof.NoDiff(t, cmp.Diff([]string{"true 1 true", "true 1 false"}, told), "told")
}

func TestLooks_CostOneGetForEachConnection(t *testing.T) {
	a, b, _, onA, onB := twoServers(t)
	a.Looks.Store(0)
	b.Looks.Store(0)
	s := open(t, patient, a.Addr, b.Addr)
	for range 100 {
		one(t, t.Context(), s, kv.OpGet(onA))
		one(t, t.Context(), s, kv.OpGet(onB))
	}
	// The first op meets its server and then looks at both; then the other is met.
	if got := [2]int64{a.Looks.Load(), b.Looks.Load()}; got != [2]int64{2, 2} {
		t.Errorf("%v looks, want 2 and 2", got)
	}
	s.memory.Doubt()
	for range 100 {
		one(t, t.Context(), s, kv.OpGet(onA))
	}
	proof.Equal(t, a.Looks.Load(), 3, "looks in all")
}
