package whole_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/whole/family"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// home is a process with the models of package family.
type home struct {
	*family.Models
	db *kvmodel.DB
}

func openHome(t *testing.T, s kv.Store, opts ...kvmodel.Option) home {
	t.Helper()
	db, err := kvmodel.Open(s, append(opts, kvmodel.Log(slog.New(slog.DiscardHandler)))...)
	must(t, err)
	return home{family.New(db), db}
}

// fill makes parents, one of whom is the person, with children.
func (h home) fill(t *testing.T) {
	t.Helper()
	for _, id := range []string{"a", person, "b"} {
		p := &family.Parent{ID: id, Slug: id, Author: id, Tags: []string{"all", id}, Room: "hall", Title: id, Note: id, Price: 7}
		must(t, h.Parents.Create(ctx, p))
		_, err := h.Parents.Views.Hit(ctx, id)
		must(t, err)
		for i := range 3 {
			must(t, h.Children.Create(ctx, &family.Child{ID: fmt.Sprint(id[:1], i), Parent: id, Toys: "ball"}))
		}
		must(t, h.db.Flush(ctx))
	}
	for i := range 3 {
		_, err := h.Parents.Update(ctx, person, func(p *family.Parent) error {
			p.Title, p.Price, p.Slug, p.Author = fmt.Sprint(person, i), int64(i), fmt.Sprint(person, i), fmt.Sprint(person, i)
			p.Tags = []string{"all", fmt.Sprint(person, i)}
			return nil
		})
		must(t, err)
		must(t, h.db.Flush(ctx))
	}
}

// written is a store that notes the keys of the model Parent that are written, other than those
// of its ids.
type written struct {
	kv.Store
	mu   sync.Mutex
	keys []string
}

func (w *written) Powers() kv.Powers { return kv.PowersOf(w.Store) }

func (w *written) Do(ctx context.Context, ops []kv.Op) error {
	w.mu.Lock()
	for _, op := range ops {
		if op.Kind != kv.Get && strings.Contains(op.Key, ":Parent:") && !strings.HasPrefix(op.Key, "all:") {
			w.keys = append(w.keys, op.Key)
		}
	}
	w.mu.Unlock()
	return w.Store.Do(ctx, ops)
}

// take returns the keys that were written since the last call.
func (w *written) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.keys = nil }()
	return w.keys
}

func TestDelete_WhatWaitsForChildrenIsNotDoneTwice(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &written{Store: k.opened(memkv.New(memkv.Options{}))}
				h := openHome(t, w)
				h.fill(t)
				must(t, h.Parents.Delete(ctx, person))
				must(t, h.db.Flush(ctx))
				if len(w.take()) == 0 {
					t.Fatal("the deletion has written nothing")
				}
				for range 20 {
					time.Sleep(time.Second)
					must(t, h.db.Flush(ctx))
				}
				if diff := cmp.Diff([]string(nil), w.take()); diff != "" {
					t.Errorf("what was written while children were waited for (-want +got)\n%s", diff)
				}
				must(t, h.db.Close(ctx))
			})
		})
	}
}
