package recovery

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// server is a store that several processes share, and that can lose its memory.
type server struct {
	store *memkv.Store

	lost    atomic.Bool
	edition atomic.Uint64
	adds    atomic.Int64 // leases taken
}

func newServer() *server {
	s := &server{store: memkv.New(memkv.Options{})}
	s.edition.Store(1)
	return s
}

// client is the store of one process.
type client struct{ *server }

func (c client) Powers() kv.Powers {
	return kv.Powers{Unless: true, Losses: c, Keys: kv.PowersOf(c.store).Keys}
}
func (c client) Close() error { return nil }

func (c client) Do(ctx context.Context, ops []kv.Op) error {
	if !c.lost.Load() {
		err := c.store.Do(ctx, ops)
		if len(ops) == 1 && ops[0].Key == leaseKey && ops[0].Kind == kv.Add && ops[0].Result.Err == nil {
			c.adds.Add(1)
		}
		return err
	}
	return kv.Fail(ops, kv.ErrLost)
}

func (c client) Lost() (all []error) {
	if c.lost.Load() {
		all = append(all, kv.ErrLost)
	}
	return all
}

func (c client) Accept(context.Context) ([]string, error) {
	if !c.lost.Swap(false) {
		return nil, nil
	}
	c.edition.Add(1)
	return []string{"cache-1:11211"}, nil
}
func (c client) Edition() (number, id uint64)           { n := c.edition.Load(); return n, n }
func (c client) Look(context.Context) error             { return nil }
func (c client) Renew(context.Context) error            { return nil }
func (c client) GoneBack(context.Context, string) error { return nil }
func (c client) Watch(func([]string, error))            {}

// process is one that serves the site, with its recovery.
type process struct {
	*Recovery
	app *ashiato.Site
}

// start starts a process, which ends with the test.
func (s *server) start(t *testing.T, accepts bool) process {
	t.Helper()
	db, err := kvmodel.Open(client{s})
	if err != nil {
		t.Fatal(err)
	}
	app := ashiato.NewSite(db, ashiato.Options{Hash: guard.HashCost{Passes: 1, Memory: 8, Threads: 1}})
	p := process{New(db, accepts), app}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { p.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		db.Close(context.Background())
	})
	return p
}

// write makes a page.
func (p process) write(t *testing.T, slug string) {
	t.Helper()
	if _, err := p.app.Write(t.Context(), "ann", ashiato.Draft{ID: p.app.NewID(), Slug: slug, Title: "Tea", Body: "One cup."}); err != nil {
		t.Fatal(err)
	}
}

// lose loses what is under the keys that begin with one of classes.
func (s *server) lose(t *testing.T, classes ...string) {
	t.Helper()
	for _, class := range classes {
		err := kv.PowersOf(s.store).Keys(t.Context(), class+":", func(keys []string) error {
			for _, key := range keys {
				if err := s.store.Do(t.Context(), []kv.Op{kv.OpDelete(key)}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.lost.Store(true)
}

// within waits until p is in the state, for limit at most.
func (p process) within(t *testing.T, limit time.Duration, want State) {
	t.Helper()
	for end := time.Now().Add(limit); p.State() != want; time.Sleep(time.Second / 10) {
		if time.Now().After(end) {
			t.Fatalf("after %v want the state %s, got %s", limit, want, p.State())
		}
	}
}

func (p process) newest(t *testing.T) int {
	t.Helper()
	list, err := p.app.Newest(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return len(list.Entries)
}

// inTime runs test with a clock of its own, and returns what was logged.
func inTime(t *testing.T, test func(t *testing.T)) string {
	t.Helper()
	var log strings.Builder
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Writer(&log), nil)))
	synctest.Test(t, test)
	return log.String()
}

func TestRecovery_BringsBackWhatIsLeftByOneOfTwoProcesses(t *testing.T) {
	log := inTime(t, func(t *testing.T) {
		s := newServer()
		one, two := s.start(t, true), s.start(t, true)
		one.write(t, "tea")
		two.write(t, "milk")
		synctest.Wait()
		s.lose(t, "ids", "all", "u", "t")
		for end := time.Now().Add(time.Minute); one.State() != Rebuilding && two.State() != Rebuilding; time.Sleep(time.Second / 10) {
			if time.Now().After(end) {
				t.Fatalf("after a minute want one process that rebuilds, got %s and %s", one.State(), two.State())
			}
		}
		one.within(t, time.Minute, Well)
		two.within(t, time.Minute, Well)
		if n := one.newest(t); n != 2 {
			t.Errorf("want both pages among the newest, got %d", n)
		}
		if n := s.adds.Load(); n != 1 {
			t.Errorf("want one process to rescue, got %d", n)
		}
	})
	for _, want := range []string{"cache-1:11211", "counter Page.Views", "events Visit", "Page 2"} {
		if !strings.Contains(log, want) {
			t.Errorf("want %q in the log, got:\n%s", want, log)
		}
	}
}

func TestRecovery_WaitsForAnOperatorIfItMayNotAccept(t *testing.T) {
	log := inTime(t, func(t *testing.T) {
		s := newServer()
		p := s.start(t, false)
		p.write(t, "tea")
		s.lose(t, "u")
		p.within(t, time.Minute, Lost)
		time.Sleep(time.Hour)
		if p.State() != Lost || !s.lost.Load() {
			t.Errorf("want the loss to stay, got the state %s", p.State())
		}
		if _, err := (client{s}).Accept(t.Context()); err != nil { // as db recover does
			t.Fatal(err)
		}
		p.within(t, time.Minute, Rebuilding)
		p.within(t, time.Minute, Well)
		if n := p.newest(t); n != 1 {
			t.Errorf("want the page among the newest, got %d", n)
		}
	})
	if n := strings.Count(log, "example-app db recover"); n != 1 {
		t.Errorf("want the command named once in the log, got it %d times:\n%s", n, log)
	}
}
