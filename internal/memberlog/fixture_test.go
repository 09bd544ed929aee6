package memberlog

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// server is a store with the powers of a Redis server.
type server struct{ kv.Store }

func (server) Powers() kv.Powers { return kv.Powers{Unless: true, Ordered: true} }

func eachKind(t *testing.T, f func(t *testing.T, mem *memkv.Store, s kv.Store)) {
	for _, kind := range []struct {
		name string
		as   func(kv.Store) kv.Store
	}{
		{"atomic", func(s kv.Store) kv.Store { return s }},
		{"unless", func(s kv.Store) kv.Store { return server{s} }},
		{"plain", func(s kv.Store) kv.Store { return quietStore{s} }},
	} {
		t.Run(kind.name, func(t *testing.T) {
			mem := memkv.New(memkv.Options{})
			f(t, mem, kind.as(mem))
		})
	}
}

// prompt returns logs whose upkeep runs when wait is called.
func prompt(s kv.Store, limits Limits) (l *Logs, wait func()) {
	var todo []func(context.Context) error
	l = &Logs{
		Key:    func(place string) string { return "l:" + place },
		Store:  s,
		Now:    time.Now,
		Soon:   func(work func(context.Context) error) bool { todo = append(todo, work); return true },
		Limits: limits,
	}
	return l, func() {
		for len(todo) > 0 {
			work := todo[0]
			todo = todo[1:]
			_ = work(context.Background())
		}
	}
}

// entriesOf returns the sorted ids of the entries at place.
func entriesOf(t testing.TB, l *Logs) (ids []string) {
	t.Helper()
	must(t, l.Entries(context.Background(), l.Store, place, func(entries []Entry) error {
		for _, e := range entries {
			ids = append(ids, e.ID)
		}
		return nil
	}))
	slices.Sort(ids)
	return ids
}

// fill adds n members, and tends the list.
func fill(t testing.TB, l *Logs, wait func(), n int) (ids []string) {
	t.Helper()
	ctx := context.Background()
	for i := range n {
		ids = append(ids, fmt.Sprintf("member-%06d", i))
		must(t, l.Write(ctx, l.Store, place, Entry{ID: ids[i], Rev: 1, In: true}))
		if i%16 == 0 {
			wait()
		}
	}
	wait()
	slices.Sort(ids)
	return ids
}

func members(t testing.TB, l *Logs) []string {
	t.Helper()
	var ids []string
	must(t, l.Each(context.Background(), l.Store, place, func(id string) error {
		ids = append(ids, id)
		return nil
	}))
	slices.Sort(ids)
	return ids
}

func segments(t testing.TB, l *Logs) int {
	t.Helper()
	h, err := l.readHead(context.Background(), l.Store, place)
	must(t, err)
	return len(h.parts)
}

var wantErr = proof.Is

func entryOf(ctx context.Context, l *Logs, s kv.Store, place, id string) (Entry, error) {
	entries, err := l.Find(ctx, s, place, id)
	if err != nil {
		return Entry{}, err
	}
	return entries[0], nil
}

// accept takes the rest of a list for the whole, as a rebuild does.
func (l *Logs) accept(ctx context.Context, s kv.Store, place string) error {
	if err := l.discard(ctx, s, place); err != nil {
		return err
	}
	h, err := l.readHead(ctx, s, place)
	if err != nil || h.lost == 0 {
		return err
	}
	return l.setLost(ctx, s, place, h.lost, 0)
}

func (l *Logs) Contains(ctx context.Context, s kv.Store, place, id string) (bool, error) {
	entries, err := l.Find(ctx, s, place, id)
	return err == nil && entries[0].member(l.now()), err
}
