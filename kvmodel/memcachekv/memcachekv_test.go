package memcachekv

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// one wants op to end in all of wants, or to succeed.
func one(t *testing.T, ctx context.Context, s kv.Store, op kv.Op, wants ...error) kv.Result {
	t.Helper()
	r, err := kv.One(ctx, s, op)
	if len(wants) == 0 && err != nil {
		t.Fatalf("ended in: %v", err)
	}
	for _, want := range wants {
		if !errors.Is(err, want) {
			t.Fatalf("%v %q ended in: %v\nwant: %v", op.Kind, op.Key, err, want)
		}
	}
	return r
}

var must = proof.Must

func within(t *testing.T, limit time.Duration, work func()) {
	t.Helper()
	start := time.Now()
	work()
	if took := time.Since(start); took > limit {
		t.Errorf("took %v, want at most %v", took, limit)
	}
}

func TestOpenVolatile_RefusesWhatMakesNoSense(t *testing.T) {
	for name, try := range map[string]struct {
		servers []string
		opts    Options
		says    string
	}{
		"no servers":       {nil, Options{}, "no servers"},
		"no port":          {[]string{"a:1", "b"}, Options{}, `"b"`},
		"the same twice":   {[]string{"a:1", "a:1"}, Options{}, "twice"},
		"negative timeout": {[]string{"a:1"}, Options{Timeout: -1}, "negative"},
		"negative conns":   {[]string{"a:1"}, Options{Conns: -1}, "negative"},
	} {
		_, err := OpenVolatile(try.servers, try.opts)
		if err == nil || !strings.Contains(err.Error(), try.says) {
			t.Errorf("%s: got error %v, want one that says %s", name, err, try.says)
		}
	}
}

func TestStore_Do_SendsTheGetsForAServerAsOneRequest(t *testing.T) {
	bothWays(t, func(t *testing.T, opts Options) {
		a, b := newFake(t), newFake(t)
		s := open(t, opts, a.Addr, b.Addr)
		ctx := t.Context()
		var ops []kv.Op
		for i := range 100 {
			ops = append(ops, kv.OpSet(fmt.Sprint("k", i), fmt.Append(nil, i)))
		}
		must(t, s.Do(ctx, ops))
		for i := range ops {
			ops[i] = kv.OpGet(ops[i].Key)
		}
		ops = append(ops, kv.OpGet("k0"), kv.OpGet("absent"))
		must(t, s.Do(ctx, ops))
		for i := range 100 {
			proof.Equal(t, string(ops[i].Result.Value), fmt.Sprint(i), "%s", ops[i].Key)
		}
		proof.Is(t, ops[101].Result.Err, kv.ErrNotFound)
		if a.Gets.Load() != 1 || b.Gets.Load() != 1 {
			t.Errorf("the servers got %d and %d requests, want one each", a.Gets.Load(), b.Gets.Load())
		}
		ops[0].Result.Value[0] = 'x'
		proof.Equal(t, string(ops[100].Result.Value), "0", "two answers for one key share their bytes")
	})
}

func TestStore_Do_AServerThatIsDown_MakesExactlyItsKeysUnavailable(t *testing.T) {
	up, stopped := newFake(t), newFake(t)
	down := stopped.Addr
	s := open(t, Options{}, up.Addr, down)
	// The first op ever needs all servers.
	one(t, t.Context(), s, kv.OpGet("k"), kv.ErrNotFound)
	stopped.Stop()
	// A get finds the connection broken; a write on it would be unclear.
	one(t, t.Context(), s, kv.OpGet(keyOn(s, down)), kv.ErrUnavailable)
	var ops []kv.Op
	for i := range 40 {
		ops = append(ops, kv.OpGet(fmt.Sprint("k", i)), kv.OpAdd(fmt.Sprint("a", i), nil))
	}
	err := s.Do(t.Context(), ops)
	if !errors.Is(err, kv.ErrUnavailable) || !strings.Contains(err.Error(), down) {
		t.Errorf("Do returned %v, want an ErrUnavailable that names %s", err, down)
	}
	failed := 0
	for _, op := range ops {
		var want error
		switch {
		case s.addrOf(op.Key) == down:
			want = kv.ErrUnavailable
			failed++
		case op.Kind == kv.Get:
			want = kv.ErrNotFound
		}
		proof.NoDiff(t, cmp.Diff(want, op.Result.Err, cmpopts.EquateErrors()), "%v %s of server %s", op.Kind, op.Key, s.addrOf(op.Key))
	}
	if failed == 0 || failed == len(ops) {
		t.Errorf("%d of %d keys live on the server that is down, which tests nothing", failed, len(ops))
	}
}

// ending begins contexts that end after d, with these errors.
func ending(t *testing.T, d time.Duration) map[error]func() context.Context {
	return map[error]func() context.Context{
		context.DeadlineExceeded: func() context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			t.Cleanup(cancel)
			return ctx
		},
		context.Canceled: func() context.Context {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(d, cancel)
			return ctx
		},
	}
}

func TestStore_Do_ASilentServer_EndsWithTheContext(t *testing.T) {
	bothWays(t, func(t *testing.T, opts Options) {
		f := newFake(t)
		opts.Timeout = time.Minute
		s := open(t, opts, f.Addr)
		one(t, t.Context(), s, kv.OpSet("k", []byte("v")))
		f.Mute.Store(true)
		for _, ops := range [][]kv.Op{{kv.OpGet("k")}, {kv.OpGet("k"), kv.OpGet("l")}} {
			for end, begin := range ending(t, 30*time.Millisecond) {
				ctx := begin()
				within(t, 30*time.Second, func() { s.Do(ctx, ops) })
				for _, op := range ops {
					if err := op.Result.Err; !errors.Is(err, kv.ErrUnavailable) || !errors.Is(err, end) {
						t.Errorf("%v %s ended in: %v\nwant: %v, %v", op.Kind, op.Key, err, kv.ErrUnavailable, end)
					}
				}
			}
		}
	})
}

func TestStore_Do_AWriteWithoutAnAnswer_IsUnclear(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, opts Options) {
		opts.Timeout = time.Minute
		var running sync.WaitGroup
		defer running.Wait()
		for name, end := range map[string]func(f *fake, cancel func()){
			"deadline": func(f *fake, _ func()) { f.Mute.Store(true) },
			"cancel":   func(f *fake, cancel func()) { f.Mute.Store(true); time.AfterFunc(time.Second/2, cancel) },
			"hang-up":  func(f *fake, _ func()) { f.HangUp.Store(true) },
		} {
			for _, op := range []kv.Op{
				kv.OpSet("k", nil), kv.OpAdd("k", nil), kv.OpSwap("k", 1, nil), kv.OpDelete("k"),
				kv.OpDrop("k", 1), kv.OpAppend("k", nil), kv.OpIncrement("k", 1),
			} {
				running.Go(func() {
					t.Run(fmt.Sprint(name, "/", op.Kind), func(t *testing.T) {
						f, s := inUse(t, opts)
						// The connection already exists, so the write itself gets no answer.
						op.Version = one(t, t.Context(), s, kv.OpGet("k")).Version
						ctx, cancel := context.WithTimeout(t.Context(), time.Second)
						defer cancel()
						end(f, cancel)
						within(t, 30*time.Second, func() { one(t, ctx, s, op, kv.ErrUnclear) })
					})
				})
			}
		}
	})
}

func TestStore_Do_ASilentServer_EndsWithTheTimeout(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, opts Options) {
		f := newFake(t)
		opts.Timeout = time.Second / 2
		s := open(t, opts, f.Addr)
		one(t, context.Background(), s, kv.OpSet("k", []byte("v")))
		f.Mute.Store(true)
		within(t, 30*time.Second, func() {
			one(t, context.Background(), s, kv.OpSet("k", nil), kv.ErrUnclear)
			one(t, context.Background(), s, kv.OpGet("k"), kv.ErrUnavailable)
		})
	})
}

func TestStore_Do_AServerThatNeverSpeaks_MakesWritesUnavailable(t *testing.T) {
	f := newFake(t)
	f.Mute.Store(true)
	s := open(t, Options{Timeout: 30 * time.Millisecond}, f.Addr)
	r := one(t, t.Context(), s, kv.OpSet("k", nil), kv.ErrUnavailable)
	if errors.Is(r.Err, kv.ErrUnclear) {
		t.Errorf("ended in %v, though the write was never sent", r.Err)
	}
}

func TestStore_Do_ManyWritesToASilentServer_WaitOnceAndHoldUpNoOne(t *testing.T) {
	t.Parallel()
	silent, well := newFake(t), newFake(t)
	const timeout = time.Second
	s := open(t, Options{Timeout: timeout, Conns: 2}, silent.Addr, well.Addr)
	one(t, t.Context(), s, kv.OpSet(keyOn(s, silent.Addr), nil))
	silent.Mute.Store(true)
	var ops []kv.Op
	for i := range 200 {
		ops = append(ops, kv.OpSet(fmt.Sprint("k", i), nil))
	}
	within(t, 10*timeout, func() { s.Do(t.Context(), ops) })
	for _, op := range ops {
		if err := op.Result.Err; (err == nil) != (s.addrOf(op.Key) == well.Addr) {
			t.Errorf("set %s on %s ended in %v", op.Key, s.addrOf(op.Key), err)
		}
	}
}

// inUse returns a store on one server, with the value v under k.
func inUse(t *testing.T, opts Options) (f *fake, s *Store) {
	t.Helper()
	f = newFake(t)
	s = open(t, opts, f.Addr)
	one(t, t.Context(), s, kv.OpSet("k", []byte("v")))
	return f, s
}

func (s *Store) addrOf(key string) string { return pick(s.servers, key).addr }

func keyOn(s *Store, addr string) string {
	for i := 0; ; i++ {
		if key := fmt.Sprint("on", i); s.addrOf(key) == addr {
			return key
		}
	}
}

func TestStore_Do_AGetOnABrokenConnection_IsAskedAgain(t *testing.T) {
	bothWays(t, func(t *testing.T, opts Options) {
		f, s := inUse(t, opts)
		f.HangUp.Store(true)
		one(t, t.Context(), s, kv.OpGet("k"))
		f.HangUp.Store(true)
		results, err := kv.GetAll(t.Context(), s, "k", "l")
		if err != nil || string(results[0].Value) != "v" {
			t.Errorf("got %v, %v", results, err)
		}
	})
}

func TestStore_Do_AConnectionThatBreaksDuringItsLook_RepeatsNoGet(t *testing.T) {
	bothWays(t, func(t *testing.T, opts Options) {
		f, s := inUse(t, opts)
		s.memory.Doubt()
		f.HangUp.Store(true)
		one(t, t.Context(), s, kv.OpGet("k"))
		proof.Equal(t, f.Gets.Load(), 1, "the get was sent")
	})
}

func TestStore_Do_OnceABrokenConnectionWasNoticed_WritesUseNewOnes(t *testing.T) {
	f := newFake(t)
	s := open(t, Options{}, f.Addr)
	write := func() {
		var done sync.WaitGroup
		for i := range 20 {
			done.Go(func() {
				proof.Ends(t, nil)(kv.One(t.Context(), s, kv.OpSet(fmt.Sprint("k", i), nil)))
			})
		}
		done.Wait()
	}
	for f.Peak.Load() < 3 {
		write()
	}
	f.Disconnect()
	one(t, t.Context(), s, kv.OpGet("k0"))
	write()
}

func TestStore_Do_NeverUsesMoreConnectionsThanItMay(t *testing.T) {
	bothWays(t, func(t *testing.T, opts Options) {
		f := newFake(t)
		opts.Conns = 3
		s := open(t, opts, f.Addr)
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				ops := make([]kv.Op, 20)
				for i := range ops {
					ops[i] = kv.OpSet(fmt.Sprint("k", i), nil)
				}
				proof.Is(t, s.Do(t.Context(), ops), nil)
			})
		}
		wg.Wait()
		if peak := f.Peak.Load(); peak > 3 {
			t.Errorf("%d connections at once, want at most 3", peak)
		}
	})
}

func TestStore_Do_WhereAllConnectionsAreBusy_EndsUnsentInTime(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	const timeout = time.Second
	s := open(t, Options{Conns: 1, Timeout: timeout}, f.Addr)
	one(t, t.Context(), s, kv.OpSet("k", []byte("v")))
	f.Mute.Store(true)
	var wg sync.WaitGroup
	var unsent atomic.Int64
	within(t, 10*timeout, func() {
		for range 30 {
			wg.Go(func() {
				if _, err := kv.One(context.Background(), s, kv.OpDelete("k")); errors.Is(err, kv.ErrUnavailable) {
					unsent.Add(1)
				}
			})
		}
		for f.Unanswered.Load() == 0 {
			time.Sleep(time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		one(t, ctx, s, kv.OpDelete("k"), kv.ErrUnavailable, context.DeadlineExceeded)
		wg.Wait()
	})
	if unsent.Load() == 0 {
		t.Error("none of the writes ended unsent")
	}
}

func TestStore_Close_EndsItsUseAndLeavesNoGoroutine(t *testing.T) {
	f := newFake(t)
	before := runtime.NumGoroutine()
	s := open(t, Options{}, f.Addr)
	var ops []kv.Op
	for i := range 50 {
		ops = append(ops, kv.OpSet(fmt.Sprint("k", i), nil), kv.OpGet(fmt.Sprint("k", i)))
	}
	must(t, s.Do(t.Context(), ops))
	for range 2 {
		must(t, s.Close())
	}
	one(t, t.Context(), s, kv.OpGet("k1"), kv.ErrUnavailable)
	one(t, t.Context(), s, kv.OpSet("k1", nil), kv.ErrUnavailable)
	// The fake's own goroutines end a little later.
	for end := time.Now().Add(time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

func TestStore_AServerThatIsSilentIsAwayUntilItAnswers(t *testing.T) {
	f := newFake(t)
	s := open(t, Options{Timeout: 200 * time.Millisecond}, f.Addr)
	ctx := t.Context()
	outages := make(chan kv.Outage, 10)
	s.Powers().Outages(func(o kv.Outage) { outages <- o })
	one(t, ctx, s, kv.OpSet("k", []byte("v")))
	f.Mute.Store(true)
	if r, _ := kv.One(ctx, s, kv.OpSet("k", []byte("w"))); !errors.Is(r.Err, kv.ErrUnclear) {
		t.Errorf("a write that was sent ended in %v, want ErrUnclear", r.Err)
	}
	// Calls go on until the server counts as away.
	for len(outages) == 0 {
		one(t, ctx, s, kv.OpGet("k"), kv.ErrUnavailable)
	}
	if o := <-outages; o.Over || o.Server != f.Addr || o.Why == nil {
		t.Errorf("the outage began with %+v", o)
	}
	asked := f.Unanswered.Load()
	for range 100 {
		_, err := kv.One(ctx, s, kv.OpSet("k", nil))
		if !errors.Is(err, kv.ErrUnavailable) || !strings.Contains(err.Error(), f.Addr) || !strings.Contains(err.Error(), "no answer for") {
			t.Fatalf("a call to a server that is away ended in %v", err)
		}
	}
	// One try at a time asks it.
	if n := f.Unanswered.Load() - asked; n > 50 {
		t.Errorf("100 calls asked a silent server %d times", n)
	}
	f.Mute.Store(false)
	if o := <-outages; !o.Over || o.Server != f.Addr {
		t.Errorf("the outage ended with %+v", o)
	}
	for {
		// A connection that the silence has ended may be met once more.
		if r, err := kv.One(ctx, s, kv.OpGet("k")); err == nil {
			if string(r.Value) != "v" {
				t.Errorf("the value is %q, want v", r.Value)
			}
			break
		}
	}
}
