package rediskv

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

func TestDo_ThousandsOfCallsToAFrozenServerEndInTimeAndFewSendersStay(t *testing.T) {
	p := ownServer(t)
	s := openAt(t, p.Addr)
	mustDo(t, s, kv.OpSet("k", nil))
	const others = 10 // the client starts some of its own
	before := runtime.NumGoroutine()
	freeze(t, p)
	ends(t, time.Minute, func() { // In sequence they would take a thousand seconds.
		var wg sync.WaitGroup
		for range 2000 {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
				defer cancel()
				if _, err := kv.One(ctx, s, kv.OpSet("k", nil)); !kv.Failed(err) {
					t.Errorf("a frozen server answered: %v", err)
				}
			})
		}
		wg.Wait()
	})
	thaw(t, p)
	back(t, s)
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before+maxIdle+others; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines, %d before: at most %d more may stay", runtime.NumGoroutine(), before, maxIdle+others)
		}
	}
	mustDo(t, s, kv.OpSet("k", []byte("1")))
	if got := string(mustDo(t, s, kv.OpGet("k")).Value); got != "1" {
		t.Errorf("an idle sender's get is %q, want 1", got)
	}
}

func TestDo_OnAConnectionThatIsThere_TakesNoGoroutineOfItsOwn(t *testing.T) {
	p := ownServer(t)
	s := openAt(t, p.Addr)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range 2 {
		if _, err := kv.One(ctx, s, kv.OpSet("k", nil)); err != nil {
			t.Fatal(err)
		}
	}
	freeze(t, p)
	const callers = 100
	before := runtime.NumGoroutine()
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			if _, err := kv.One(ctx, s, kv.OpGet("k")); !errors.Is(err, context.Canceled) {
				t.Errorf("the get ended in %v", err)
			}
		})
	}
	time.Sleep(100 * time.Millisecond)
	if n := runtime.NumGoroutine() - before; n > callers+10 {
		t.Errorf("%d callers take %d goroutines", callers, n)
	}
	cancel()
	wg.Wait()
	thaw(t, p)
	mustDo(t, s, kv.OpGet("k"))
}

func TestStore_Get_AllocatesAtMostFourTimesMoreThanTheRawClient(t *testing.T) {
	s := openAt(t, serverAddr(t))
	mustDo(t, s, kv.OpSet("alloc", make([]byte, 1024)))
	cancellable, cancel := context.WithCancel(context.Background())
	defer cancel()
	raw := proof.Allocs(500, func() {
		cmd := s.client.B().Get().Key("alloc").Build()
		if err := s.client.Do(cancellable, cmd).Error(); err != nil {
			t.Error(err)
		}
	})
	for name, ctx := range map[string]context.Context{"background": context.Background(), "cancellable": cancellable} {
		got := proof.Allocs(500, func() {
			if _, err := kv.One(ctx, s, kv.OpGet("alloc")); err != nil {
				t.Error(err)
			}
		})
		t.Logf("%s context: %v allocations per get, the raw client has %v", name, got, raw)
		if got > raw+4 {
			t.Errorf("%s context: %v allocations per get, the raw client has %v", name, got, raw)
		}
	}
}
