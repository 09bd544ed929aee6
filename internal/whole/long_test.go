package whole_test

import (
	recency "container/list"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

func TestLong_EverNewIDsLeaveNothingUndoneAndTakeNoMoreMemory(t *testing.T) {
	l := newLong(t)
	const calls = 3000
	var memory []int
	for range proof.Rounds(t, 1, 3000) {
		must(t, l.run(calls*(len(memory)+1)))
		memory = append(memory, l.memory())
	}
	if s := l.DB.Stats(); s.Background != 0 || s.Waiting != 0 || s.Lines != 0 || s.InDoubt != 0 || s.Failed != 0 {
		t.Errorf("stats %+v", s)
	}
	must(t, l.DB.Close(ctx))
	early, most := slices.Max(memory[:(len(memory)+9)/10]), slices.Max(memory)
	t.Logf("%d calls: %d MB in use at most, %d MB in the first tenth of them", calls*len(memory), most>>20, early>>20)
	if len(memory) >= 1000 && most > early+early/10 {
		t.Error("memory goes on growing")
	}
}

// long uses each id, value and owner for a short time. Its store forgets keys without recent use,
// so only the memory of the process can grow.
type long struct {
	*whole.Library
	calls int
}

const (
	longKeys = 20_000
	longUses = 64
	longLife = 32 // in rounds
)

func newLong(t *testing.T) *long {
	t.Helper()
	s := &forgetful{Store: memkv.New(memkv.Options{}), at: make(map[string]*recency.Element), kept: make(map[string]bool)}
	l := libraryIn(t, s)
	return &long{Library: l}
}

func (l *long) run(n int) error {
	for round := l.calls / len(l.round(0)); l.calls < n; round++ {
		for _, call := range l.round(round) {
			l.calls++
			if err := call(); err != nil {
				return fmt.Errorf("round %d: %w", round, err)
			}
		}
	}
	return l.DB.Flush(ctx)
}

func (l *long) round(i int) []func() error {
	id, old := fmt.Sprint("id-", i), fmt.Sprint("id-", i-longLife)
	v := &whole.Work{
		ID: id, Slug: "slug-" + id, Author: "author-" + id, Tags: []string{"tag-" + id}, Room: "room-" + id, Shelf: i,
		Title: id, Note: "a", Price: int64(i), Grade: float64(i % 1000), Taken: time.Unix(int64(1000+i), 0),
	}
	like, ticket := &whole.Like{User: "user-" + id, Work: id}, &whole.Ticket{Text: "text-" + id}
	gone := func(err error) error {
		if i < longLife && errors.Is(err, kv.ErrNotFound) {
			return nil
		}
		return err
	}
	return []func() error{
		func() error { return l.Works.Create(ctx, v) },
		func() error { return l.Likes.Create(ctx, like) },
		func() error { _, err := l.Works.Views.Hit(ctx, id); return err },
		func() error {
			_, err := l.Works.Update(ctx, id, func(v *whole.Work) error {
				v.Slug, v.Author, v.Tags, v.Title = "next-"+id, "next-"+id, []string{"next-" + id}, "next"
				return nil
			})
			return err
		},
		func() error { _, err := l.Works.BySlug.Find(ctx, "next-"+id); return err },
		func() error { _, err := l.Likes.ByWork.Of(id).Size(ctx); return err },
		func() error {
			return l.Offers.Create(ctx, &whole.Offer{ID: id, Code: "code-" + id, Kind: "kind-" + id, Until: l.DB.Now().Add(time.Hour)})
		},
		func() error { return l.Bids.Create(ctx, &whole.Bid{ID: id, Kind: "kind-" + id, Price: int64(i)}) },
		func() error { return l.Tickets.Create(ctx, ticket) },
		func() error { return l.Tickets.Delete(ctx, ticket.ID) },
		func() error {
			owner := "owner-" + id
			return errors.Join(
				l.Visits.Push(ctx, whole.Visit{Owner: owner, Guest: id}), l.Glances.Push(ctx, whole.Glance{Owner: owner, Guest: id}),
				l.Notices.Push(ctx, whole.Notice{To: owner, Text: id, About: id}), l.Shots.Push(ctx, whole.Shot{Of: owner, Text: id}))
		},
		func() error { return gone(l.Likes.Delete(ctx, whole.LikeID{User: "user-" + old, Work: old})) },
		func() error { return gone(l.Works.Delete(ctx, old)) },
		func() error { return gone(l.Offers.Delete(ctx, old)) },
		func() error { return gone(l.Bids.Delete(ctx, old)) },
	}
}

func (l *long) memory() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// forgetful keeps the most recently used keys, and those that are used often or belong to a model
// as a whole.
type forgetful struct {
	kv.Store

	mu   sync.Mutex
	used recency.List // of *use
	at   map[string]*recency.Element
	kept map[string]bool
}

type use struct {
	key   string
	times int
}

// The ids of an enumeration are useless to a process that does not list them.
func (u *use) stays() bool {
	parts := strings.Count(u.key, ":")
	return parts < 2 || u.times >= longUses && !strings.HasPrefix(u.key, "ids:")
}

func (f *forgetful) Powers() kv.Powers { return kv.Powers{} }

func (f *forgetful) Do(ctx context.Context, ops []kv.Op) error {
	err := f.Store.Do(ctx, ops)
	f.mu.Lock()
	defer f.mu.Unlock()
	var forgotten []kv.Op
	for i := range ops {
		f.note(&ops[i])
	}
	for f.used.Len() > longKeys {
		u := f.used.Remove(f.used.Back()).(*use)
		delete(f.at, u.key)
		forgotten = append(forgotten, kv.OpDelete(u.key))
	}
	if len(forgotten) > 0 {
		_ = f.Store.Do(ctx, forgotten)
	}
	return err
}

func (f *forgetful) note(op *kv.Op) {
	if f.kept[op.Key] {
		if op.Kind == kv.Delete {
			delete(f.kept, op.Key)
		}
		return
	}
	e := f.at[op.Key]
	switch {
	case e == nil && (op.Kind == kv.Get || op.Kind == kv.Delete):
		return
	case e == nil:
		e = f.used.PushFront(&use{key: op.Key})
		f.at[op.Key] = e
	}
	u := e.Value.(*use)
	u.times++
	switch {
	case op.Kind == kv.Delete:
		f.used.Remove(e)
		delete(f.at, op.Key)
	case !u.stays():
		f.used.MoveToFront(e)
	default:
		f.used.Remove(e)
		delete(f.at, op.Key)
		f.kept[op.Key] = true
	}
}
