package inspect_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"

	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

const leaseKey = "recovery:lease"

type server struct {
	store *memkv.Store

	lost    atomic.Bool
	edition atomic.Uint64
	adds    atomic.Int64 // leases taken
}

func newServer(mem *memkv.Store) *server {
	s := &server{store: mem}
	s.edition.Store(1)
	return s
}

var errServerLost = fmt.Errorf("cache-1:11211: %w", kv.ErrLost)

// renewed is the edition of a store that was accepted as an empty one.
const renewed = 1000

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
	return kv.Fail(ops, errServerLost)
}

func (c client) Lost() (all []error) {
	if c.lost.Load() {
		all = append(all, errServerLost)
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
func (c client) Renew(context.Context) error            { c.edition.Store(renewed); return nil }
func (c client) GoneBack(context.Context, string) error { return nil }
func (c client) Watch(func([]string, error))            {}

type process struct {
	*inspect.Recovery
	notes notes
}

func (s *server) start(t *testing.T, log *slog.Logger, accepts bool) process {
	t.Helper()
	db := open(t, client{s})
	all := newNotes(db)
	p := process{inspect.Recover(t.Context(), db, inspect.RecoverOptions{Accept: accepts, Log: log}), all}
	t.Cleanup(func() {
		p.Stop()
		db.Close(context.Background())
	})
	return p
}

func (p process) write(t *testing.T, id string) {
	t.Helper()
	must(t, p.notes.Create(t.Context(), &note{ID: id, Title: id, Tags: []string{"sea"}}))
}

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
		must(t, err)
	}
	s.lost.Store(true)
}

func within(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !is(); time.Sleep(time.Second / 10) {
		if time.Now().After(end) {
			t.Fatalf("after %v want %s", limit, what)
		}
	}
}

func (p process) within(t *testing.T, limit time.Duration, want inspect.Health) {
	t.Helper()
	within(t, limit, want.String(), func() bool { return p.Health() == want })
}

func (p process) wantTitles(t *testing.T, titles ...string) {
	t.Helper()
	for _, title := range titles {
		if n, err := p.notes.byTitle.Find(t.Context(), title); err != nil || n.Title != title {
			t.Errorf("want the note %s by its title, got %v, %v", title, n, err)
		}
	}
}

func logged(t *testing.T, test func(t *testing.T, log *slog.Logger)) string {
	t.Helper()
	var text strings.Builder
	synctest.Test(t, func(t *testing.T) { test(t, slog.New(slog.NewTextHandler(&text, nil))) })
	return text.String()
}

func TestRecover_BringsBackWhatIsLeftByOneOfTwoProcesses(t *testing.T) {
	text := logged(t, func(t *testing.T, log *slog.Logger) {
		s := newServer(memkv.New(memkv.Options{}))
		one, two := s.start(t, log, true), s.start(t, log, true)
		one.write(t, "tea")
		two.write(t, "milk")
		synctest.Wait()
		s.lose(t, "ids", "u", "l")
		within(t, time.Minute, "a process that rebuilds", func() bool { return one.Health() == inspect.Rebuilding || two.Health() == inspect.Rebuilding })
		one.within(t, 3*time.Minute, inspect.Well)
		two.within(t, 3*time.Minute, inspect.Well)
		one.wantTitles(t, "tea", "milk")
		proof.Equal(t, s.adds.Load(), 1, "one process to rescue")
		if _, err := kv.One(t.Context(), s.store, kv.OpGet(leaseKey)); err == nil {
			t.Error("want the lease given back")
		}
	})
	for _, want := range []string{"cache-1:11211", "counter Note.Views", "Note 2"} {
		proof.Contains(t, text, want)
	}
}

func TestRecover_WithoutAcceptWaitsForAnOperator(t *testing.T) {
	text := logged(t, func(t *testing.T, log *slog.Logger) {
		s := newServer(memkv.New(memkv.Options{}))
		p := s.start(t, log, false)
		p.write(t, "tea")
		s.lose(t, "u")
		p.within(t, time.Minute, inspect.Lost)
		time.Sleep(time.Hour)
		if p.Health() != inspect.Lost || !s.lost.Load() {
			t.Errorf("want the loss to stay, got %s", p.Health())
		}
		if _, err := (client{s}).Accept(t.Context()); err != nil { // as db recover does
			t.Fatal(err)
		}
		p.within(t, time.Minute, inspect.Rebuilding)
		p.within(t, 3*time.Minute, inspect.Well)
		p.wantTitles(t, "tea")
	})
	if n := strings.Count(text, "db recover"); n != 1 {
		t.Errorf("want the verb named once in the log, got it %d times:\n%s", n, text)
	}
}

// A process that was away for longer than its lease finds that of another one.
func TestRecover_TheLeaseOfAnotherProcessStaysAndEndsTheRescue(t *testing.T) {
	text := logged(t, func(t *testing.T, log *slog.Logger) {
		s := newServer(memkv.New(memkv.Options{}))
		p := s.start(t, log, true)
		p.write(t, "tea")
		s.lose(t, "ids", "u", "l")
		within(t, time.Minute, "a rescue", func() bool { return s.adds.Load() == 1 })
		proof.Done(t)(kv.One(t.Context(), s.store, kv.OpSet(leaseKey, []byte("another")).For(5*time.Minute)))
		for range 4 {
			time.Sleep(time.Minute)
			at, err := kv.One(t.Context(), s.store, kv.OpGet(leaseKey))
			if err != nil || string(at.Value) != "another" {
				t.Fatalf("want the lease of the other process, got %q, %v", at.Value, err)
			}
		}
		p.within(t, 10*time.Minute, inspect.Well) // Once that of the other process, which is dead, has ended.
		p.wantTitles(t, "tea")
	})
	proof.Contains(t, text, "another process is recovering")
}
