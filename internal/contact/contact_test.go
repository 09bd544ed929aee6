package contact

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const patience = 4 * time.Second

// fake is a server that refuses, accepts and says nothing, or answers each request after a while.
type fake struct {
	refuses, mute atomic.Bool
	unreachable   atomic.Bool  // connecting takes forever
	takes         atomic.Int64 // the time of an answer
	dials         atomic.Int64
	dialing, most atomic.Int64 // tries at once
}

func (f *fake) dial(ctx context.Context, _ string) (net.Conn, error) {
	f.dials.Add(1)
	f.most.Store(max(f.most.Load(), f.dialing.Add(1)))
	defer f.dialing.Add(-1)
	time.Sleep(time.Millisecond)
	switch {
	case f.unreachable.Load():
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	case f.refuses.Load():
		return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	near, far := net.Pipe()
	go f.serve(far)
	return near, nil
}

func (f *fake) serve(c net.Conn) {
	defer c.Close()
	request := make([]byte, 64)
	for {
		if _, err := c.Read(request); err != nil {
			return
		}
		time.Sleep(time.Duration(f.takes.Load()))
		for f.mute.Load() {
			time.Sleep(10 * time.Millisecond)
		}
		if _, err := c.Write([]byte("yes")); err != nil {
			return
		}
	}
}

// run also passes the reported outages to test.
func run(t *testing.T, test func(t *testing.T, f *fake, s *Servers, heard func() []string)) {
	synctest.Test(t, func(t *testing.T) {
		f := new(fake)
		s := New(patience, "hello", f.dial)
		var mu sync.Mutex
		var all []string
		s.Outages(func(o kv.Outage) {
			mu.Lock()
			defer mu.Unlock()
			word := "over"
			if !o.Over {
				word = o.Why.Error()
			}
			all = append(all, o.Server+": "+word)
		})
		test(t, f, s, func() []string {
			mu.Lock()
			defer mu.Unlock()
			return all
		})
		s.Close()
		f.mute.Store(false)
		time.Sleep(time.Minute)
	})
}

func ask(s *Servers) error {
	c, err := s.Dial(context.Background(), "a:1")
	if err != nil {
		return err
	}
	defer c.Close()
	return askOn(c)
}

func askOn(c net.Conn) error {
	if _, err := c.Write([]byte("get")); err != nil {
		return err
	}
	_, err := c.Read(make([]byte, 3))
	return err
}

func wantHeard(t *testing.T, heard []string, want ...string) {
	t.Helper()
	proof.NoDiff(t, cmp.Diff(want, heard), "what was heard of outages")
}

func TestDial_WhereNothingListensFailsAtOnceWithOneTryAtATime(t *testing.T) {
	run(t, func(t *testing.T, f *fake, s *Servers, heard func() []string) {
		f.refuses.Store(true)
		proof.Is(t, ask(s), syscall.ECONNREFUSED)
		f.most.Store(0)
		start := time.Now()
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				proof.Is(t, ask(s), syscall.ECONNREFUSED)
			})
		}
		wg.Wait()
		if took := time.Since(start); took > 100*time.Millisecond {
			t.Errorf("100 calls took %v", took)
		}
		proof.Equal(t, f.most.Load(), 1, "tries at once")
		wantHeard(t, heard(), "a:1: dial: connect: connection refused")

		f.refuses.Store(false)
		time.Sleep(2 * time.Millisecond) // A try under way may still be refused.
		proof.Is(t, ask(s), nil)
		time.Sleep(time.Second)
		wantHeard(t, heard(), "a:1: dial: connect: connection refused", "a:1: over")
	})
}

func TestDial_AServerThatComesBackIsFoundInTheBackground(t *testing.T) {
	run(t, func(t *testing.T, f *fake, s *Servers, heard func() []string) {
		f.refuses.Store(true)
		_ = ask(s)
		time.Sleep(10 * time.Second)
		if n := f.dials.Load(); n < 15 || n > 30 {
			t.Errorf("%d tries in 10 seconds", n)
		}
		f.refuses.Store(false)
		time.Sleep(time.Second)
		wantHeard(t, heard(), "a:1: dial: connect: connection refused", "a:1: over")
		dials := f.dials.Load()
		time.Sleep(10 * time.Second)
		if n := f.dials.Load() - dials; n > 0 {
			t.Errorf("%d tries to reach a server that answers", n)
		}
	})
}

func TestRead_ASilentServerIsAwayAfterPatience(t *testing.T) {
	run(t, func(t *testing.T, f *fake, s *Servers, heard func() []string) {
		proof.Must(t, ask(s))
		f.mute.Store(true)
		start := time.Now()
		err := ask(s)
		op, ok := errors.AsType[*net.OpError](err)
		if !ok || op.Op != "read" || !strings.Contains(err.Error(), "a:1") || !strings.Contains(err.Error(), "no answer for 4s") {
			t.Errorf("the call ended in %v", err)
		}
		if took := time.Since(start); took < patience || took > patience+time.Second {
			t.Errorf("the call took %v", took)
		}
		wantHeard(t, heard(), "a:1: no answer for 1s")

		start, dials := time.Now(), f.dials.Load()
		for range 100 {
			err := ask(s)
			if op, ok := errors.AsType[*net.OpError](err); !ok || op.Op != "dial" {
				t.Fatalf("a call to a server that is away ended in %v", err)
			}
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("100 calls to a server that is away took %v", took)
		}
		if n := f.dials.Load() - dials; n > 1 {
			t.Errorf("100 calls made %d tries", n)
		}
		time.Sleep(20 * time.Second)
		f.mute.Store(false)
		time.Sleep(time.Second)
		proof.Is(t, ask(s), nil)
		wantHeard(t, heard(), "a:1: no answer for 1s", "a:1: over")
	})
}

func TestRead_CallsThatDoNotWaitLongFindASilentServerTogether(t *testing.T) {
	run(t, func(t *testing.T, f *fake, s *Servers, heard func() []string) {
		f.mute.Store(true)
		for range 30 {
			c, err := s.Dial(context.Background(), "a:1")
			if err != nil {
				break
			}
			c.SetDeadline(time.Now().Add(200 * time.Millisecond))
			_ = askOn(c)
			c.Close()
		}
		if err := ask(s); err == nil || !strings.Contains(err.Error(), "no answer for 4s") {
			t.Errorf("after 6 seconds a call ended in %v", err)
		}
		wantHeard(t, heard(), "a:1: no answer for 1s")
	})
}

func TestRead_AServerThatAnswersSlowlyIsNotAway(t *testing.T) {
	run(t, func(t *testing.T, f *fake, s *Servers, heard func() []string) {
		f.takes.Store(int64(patience * 3 / 4))
		for range 5 {
			proof.Is(t, ask(s), nil)
			// A server without requests is not silent.
			time.Sleep(2 * patience)
		}
		for i, text := range heard() {
			if want := []string{"a:1: no answer for 1s", "a:1: over"}[i%2]; text != want {
				t.Errorf("heard %q, want %q", text, want)
			}
		}
	})
}

func TestRead_AnAnswerOnOneConnectionCountsForAll(t *testing.T) {
	run(t, func(t *testing.T, f *fake, s *Servers, heard func() []string) {
		f.mute.Store(true)
		slow, err := s.Dial(context.Background(), "a:1")
		proof.Must(t, err)
		defer slow.Close()
		ended := make(chan error, 1)
		go func() { ended <- askOn(slow) }()
		synctest.Wait()
		far := new(fake)
		s.dial = far.dial
		for range 20 {
			proof.Must(t, ask(s))
			time.Sleep(patience / 8)
		}
		f.mute.Store(false)
		if err := <-ended; err != nil {
			t.Errorf("the slow request ended in %v", err)
		}
		wantHeard(t, heard())
	})
}

func TestDial_ThatEndsWithItsContextSaysNothingAboutTheServer(t *testing.T) {
	run(t, func(t *testing.T, f *fake, s *Servers, heard func() []string) {
		f.unreachable.Store(true)
		ctx, cancel := context.WithTimeout(context.Background(), time.Second/2)
		defer cancel()
		if _, err := s.Dial(ctx, "a:1"); err == nil {
			t.Error("it connected")
		}
		f.unreachable.Store(false)
		proof.Is(t, ask(s), nil)
		wantHeard(t, heard())
	})
}

func TestReach_AServerThatNoOneAsksForIsLeftAlone(t *testing.T) {
	run(t, func(t *testing.T, f *fake, s *Servers, heard func() []string) {
		f.refuses.Store(true)
		_ = ask(s)
		time.Sleep(2 * forgetAfter)
		dials := f.dials.Load()
		time.Sleep(time.Hour)
		if n := f.dials.Load() - dials; n > 0 {
			t.Errorf("%d tries", n)
		}
		_ = ask(s)
		wantHeard(t, heard(), "a:1: dial: connect: connection refused")
	})
}

func TestDial_AfterCloseIsRefused(t *testing.T) {
	run(t, func(t *testing.T, f *fake, s *Servers, heard func() []string) {
		f.refuses.Store(true)
		_ = ask(s)
		s.Close()
		dials := f.dials.Load()
		for range 3 {
			if err := ask(s); err == nil {
				t.Error("a closed store connects")
			}
		}
		time.Sleep(time.Minute)
		if n := f.dials.Load() - dials; n > 0 {
			t.Errorf("%d tries after Close", n)
		}
	})
}

func wantFinding(t *testing.T, got kv.Finding, is kv.Verdict, text string) {
	t.Helper()
	if got.Is != is || !strings.Contains(got.Text, text) {
		t.Errorf("want %s and %q, got %s and %q", is, text, got.Is, got.Text)
	}
}

func TestIsLocal_OnlyOfThisMachine(t *testing.T) {
	for addr, want := range map[string]bool{
		"localhost:6379": true, "127.0.0.1:6379": true, "[::1]:6379": true, "127.8.8.8": true,
		"10.0.0.1:6379": false, "cache-1:11211": false, "[2001:db8::1]:6379": false, "": false,
	} {
		proof.Equal(t, IsLocal(addr), want, "%q", addr)
	}
}

func TestFindClock_OneThatIsOffIsAWarning(t *testing.T) {
	wantFinding(t, FindClock("a:1", time.Second, 0), kv.Fine, "to 1s")
	wantFinding(t, FindClock("a:1", -3*time.Second, time.Second), kv.Fine, "to 4s")
	wantFinding(t, FindClock("a:1", 61*time.Second, 0), kv.Hurts, "its clock is 1m1s ahead of that of this machine")
	wantFinding(t, FindClock("a:1", -5*time.Second, 0), kv.Hurts, "its clock is 5s behind that of this machine")
}

func TestFindMemory_OneThatIsNearlyFullIsAWarning(t *testing.T) {
	wantFinding(t, FindMemory("a:1", "maxmemory", 79, 100), kv.Fine, "79 %")
	wantFinding(t, FindMemory("a:1", "maxmemory", 80, 100), kv.Hurts, "raise maxmemory before it is full")
}
