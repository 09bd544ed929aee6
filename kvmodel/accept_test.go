package kvmodel_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// lossy is a store on one server that loses the keys a test removes. All processes see the same
// edition.
type lossy struct {
	kv.Store
	sent atomic.Pointer[func(kv.Op)] // called with each op before it is sent; nil: none

	mu      sync.Mutex
	edition uint64
	lost    []error
	back    []string // keys seen in an older state
	watches []func([]string, error)
}

func newLossy() *lossy { return &lossy{Store: memkv.New(memkv.Options{}), edition: 1} }

func (l *lossy) Close() error { return nil }

func (l *lossy) Powers() kv.Powers { return kv.Powers{Losses: l} }

func (l *lossy) Do(ctx context.Context, ops []kv.Op) error {
	for _, op := range ops {
		if sent := l.sent.Load(); sent != nil {
			(*sent)(op)
		}
	}
	return l.Store.Do(ctx, ops)
}

// show makes the store call f with each op before it is sent.
func (l *lossy) show(f func(kv.Op)) { l.sent.Store(&f) }

func (l *lossy) lose(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		if _, err := kv.One(t.Context(), l.Store, kv.OpDelete(key)); err != nil {
			t.Fatal(key, err)
		}
	}
	err := fmt.Errorf("a:1: %w", kv.ErrLost)
	l.mu.Lock()
	l.lost = append(l.lost, err)
	l.mu.Unlock()
	for _, watch := range l.watches {
		watch([]string{"a:1"}, err)
	}
}

func (l *lossy) Lost() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

func (l *lossy) Accept(context.Context) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.lost) == 0 {
		return nil, nil
	}
	l.edition++
	l.lost = nil
	return []string{"a:1"}, nil
}

func (l *lossy) Edition() (number, id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.edition, 100 + l.edition
}

func (l *lossy) Look(context.Context) error { return nil }

func (l *lossy) Renew(context.Context) error { return nil }

func (l *lossy) GoneBack(_ context.Context, key string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.back = append(l.back, key)
	return nil
}

func (l *lossy) gone() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.back)
}

func (l *lossy) Watch(f func([]string, error)) { l.watches = append(l.watches, f) }

func TestDB_Accept_MakesEveryIndexNeedARebuildInAllProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLossy()
		a, b := deploy(t, s, "Text"), deploy(t, s, "Text")
		defer a.undeploy(t)
		defer b.undeploy(t)
		must(t, a.Create(t.Context(), &note{ID: "1", Text: "one"}))
		must(t, b.Create(t.Context(), &note{ID: "2", Text: "two"}))
		a.finds(t, "Text", "two", "2")
		b.finds(t, "Text", "one", "1")

		s.lose(t, "u:Note:ByText:one")
		servers, err := a.db.Accept(t.Context())
		proof.Is(t, err, nil)
		proof.NoDiff(t, cmp.Diff([]string{"a:1"}, servers), "Accept, servers")
		fresh := deploy(t, s, "Text")
		defer fresh.undeploy(t)
		for _, v := range []*release{a, b, fresh} {
			v.needsRebuild(t, "Text")
		}
		must(t, b.Rebuild(t.Context()))
		for _, v := range []*release{a, b, fresh} {
			v.finds(t, "Text", "one", "1")
		}
		if servers, err := a.db.Accept(t.Context()); len(servers) != 0 || err != nil {
			t.Errorf("a second Accept returned %v, %v", servers, err)
		}
		a.finds(t, "Text", "two", "2")
	})
}

// The accepting process may lack some models, and may end immediately.
func TestDB_Accept_HoldsForModelsThatTheProcessDoesNotHave(t *testing.T) {
	for name, keys := range map[string][]string{
		"built is left":  {"u:Note:ByText:one"},
		"built is gone":  {"u:Note:ByText:one", "built:Note"},
		"all of it gone": {"u:Note:ByText:one", "built:Note", "r:Note:1"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newLossy()
				v := deploy(t, s, "Text")
				defer v.undeploy(t)
				must(t, v.Create(t.Context(), &note{ID: "1", Text: "one"}))
				s.lose(t, keys...)
				other := closing(t, open(t, s))
				proof.Done(t)(other.Accept(t.Context()))
				v.needsRebuild(t, "Text")
				must(t, v.Create(t.Context(), &note{ID: "2", Text: "two"}))
				v.needsRebuild(t, "Text")
				must(t, v.Rebuild(t.Context()))
				v.finds(t, "Text", "two", "2")
			})
		})
	}
}

func TestDB_Accept_DuringARebuildMakesItBeginAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLossy()
		v := deploy(t, s, "Text")
		defer v.undeploy(t)
		must(t, v.Create(t.Context(), &note{ID: "1", Text: "one"}))
		s.show(func(op kv.Op) {
			if op.Key == "rebuilt:Note" && op.Kind != kv.Get {
				// The entries exist, and the index is about to be marked.
				s.sent.Store(nil)
				s.lose(t, "u:Note:ByText:one")
				proof.Ends(t, nil)(s.Accept(t.Context()))
			}
		})
		must(t, v.Rebuild(t.Context()))
		v.finds(t, "Text", "one", "1")
	})
}

// Another process may have rebuilt everything before this one knows of the loss, without seeing any
// of its lines.
func TestDB_Accept_LeavesWhatAProcessHadUnderWayToRepair(t *testing.T) {
	inTime(t, func(t *testing.T, ctx context.Context, _ *memkv.Store) {
		s := newLossy()
		v := deploy(t, s, "Text")
		must(t, v.Create(ctx, &note{ID: "1", Text: "one"}))
		s.lose(t, append(keys(s.Store.(*memkv.Store), "out"), "procs", "u:Note:ByText:one")...)
		other := deploy(t, s, "Text")
		proof.Done(t)(other.db.Accept(ctx))
		must(t, other.Rebuild(ctx))
		time.Sleep(2 * time.Minute)
		for _, r := range []*release{v, other} {
			r.finds(t, "Text", "one", "1")
			wantLen(t, 1, allIDs(t, ctx, r.notes), "all ids")
		}
		must(t, v.Create(ctx, &note{ID: "2", Text: "two"}))
		other.finds(t, "Text", "two", "2")
		v.undeploy(t)
		other.undeploy(t)
	})
}

func TestDB_Accept_OnAStoreThatLosesNothing_IsNothing(t *testing.T) {
	db := closing(t, open(t, memkv.New(memkv.Options{})))
	if servers, err := db.Accept(t.Context()); len(servers) != 0 || err != nil {
		t.Errorf("Accept returned %v, %v", servers, err)
	}
}

func TestDB_Accept_IsRefusedWhereADBOnlyReads(t *testing.T) {
	s := newLossy()
	v := deploy(t, s, "Text")
	must(t, v.Create(t.Context(), &note{ID: "1", Text: "one"}))
	v.undeploy(t)
	reader := open(t, s, kvmodel.ReadOnly())
	s.lose(t)
	_, err := reader.Accept(t.Context())
	_, direct := kv.PowersOf(reader.Store()).Losses.Accept(t.Context())
	if !errors.Is(err, kvmodel.ErrReadOnly) || !errors.Is(direct, kvmodel.ErrReadOnly) {
		t.Errorf("Accept: %v, that of its store: %v, want both %q", err, direct, kvmodel.ErrReadOnly)
	}
	wantSame(t, 1, reader.Stats().Lost, "lost servers")
}

func TestDB_ALoss_IsLoggedAndCounted(t *testing.T) {
	s := newLossy()
	var log proof.Log
	db := closing(t, open(t, s, kvmodel.Log(slog.New(slog.NewTextHandler(&log, nil))), kvmodel.Tenant("tenant")))
	wantSame(t, 0, db.Stats().Lost, "lost servers")
	s.lose(t)
	wantSame(t, 1, db.Stats().Lost, "lost servers")
	if !strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "a:1") {
		t.Errorf("the log says %s", &log)
	}
}

// A replica without the last writes has taken over, or a snapshot was restored.
func TestDB_AStoreThatHasGoneBack_IsSaidToHaveLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newLossy()
		v := deploy(t, s, "Text")
		var head atomic.Pointer[kv.Op]
		s.show(func(op kv.Op) {
			if strings.HasPrefix(op.Key, "out:") && op.Kind == kv.CompareAndSwap {
				op.Value = slices.Clone(op.Value) // Its journal may reuse the bytes.
				head.Store(&op)
			}
		})
		must(t, v.Create(t.Context(), &note{ID: "1", Text: "one"}))
		time.Sleep(1500 * time.Millisecond)
		old := *head.Load()
		must(t, v.Create(t.Context(), &note{ID: "2", Text: "two"}))
		time.Sleep(1100 * time.Millisecond)
		if string(old.Value) == string(head.Load().Value) || len(s.gone()) > 0 {
			t.Fatalf("the head was not written again, or %v have gone back", s.gone())
		}
		proof.Done(t)(kv.One(t.Context(), s.Store, kv.OpSet(old.Key, old.Value)))
		must(t, v.Create(t.Context(), &note{ID: "3", Text: "three"}))
		time.Sleep(1100 * time.Millisecond)
		wantSame(t, []string{old.Key}, s.gone(), "gone back")
		// It is reported once, and later writes go to a new journal.
		must(t, v.Create(t.Context(), &note{ID: "4", Text: "four"}))
		time.Sleep(2 * time.Second)
		if len(s.gone()) != 1 || head.Load().Key == old.Key {
			t.Errorf("%d times gone back, with a journal at %s as before", len(s.gone()), head.Load().Key)
		}
		_ = v.db.Close(t.Context())
	})
}
