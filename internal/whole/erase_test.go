package whole_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/internal/whole/family"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

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

func (h home) fill(t *testing.T) {
	t.Helper()
	for _, id := range []string{"a", person, "b"} {
		p := &family.Parent{ID: id, Slug: id, Author: id, Tags: []string{"all", id}, Room: "hall", Title: id, Note: id, Price: 7}
		must(t, h.Parents.Create(ctx, p))
		proof.Done(t)(h.Parents.Views.Hit(ctx, id))
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

func (h home) purge(t *testing.T, every time.Duration) (early int) {
	t.Helper()
	for {
		err := h.Parents.Purge(ctx, person)
		if err == nil {
			return early
		}
		if !errors.Is(err, kvmodel.ErrNotYet) {
			t.Fatal(err)
		}
		early++
		time.Sleep(every)
	}
}

func wantNoTrace(t *testing.T, s kv.Store) {
	t.Helper()
	for _, wait := range []time.Duration{0, time.Minute, 2 * time.Hour} {
		time.Sleep(wait)
		wantNoTraces(t, s, fmt.Sprint(wait, " later"))
	}
}

func eachHome(t *testing.T, f func(t *testing.T, s *memkv.Store, open func() home)) {
	eachKind(t, kinds, func(t *testing.T, k kind, s *memkv.Store) {
		f(t, s, func() home { return openHome(t, distant(k.opened(s), 3*time.Millisecond)) })
	})
}

func TestPurge_OfARecordWithChildrenStaysDoneAndLeavesNothingToDo(t *testing.T) {
	for _, ends := range []bool{false, true} {
		eachHome(t, func(t *testing.T, s *memkv.Store, open func() home) {
			h := open()
			h.fill(t)
			h.purge(t, 20*time.Millisecond)
			if ends {
				must(t, h.db.Close(ctx))
			}
			wantNoTrace(t, s)
			must(t, h.db.Close(ctx))
		})
	}
}

func TestPurge_WaitsForADeletionOfAnotherProcess(t *testing.T) {
	eachHome(t, func(t *testing.T, s *memkv.Store, open func() home) {
		deleter := open()
		deleter.fill(t)
		time.Sleep(7 * time.Second) // so that the two do not retry at the same times
		purger := open()
		must(t, deleter.Parents.Delete(ctx, person))
		purger.purge(t, 100*time.Millisecond)
		wantNoTrace(t, s)
		must(t, errors.Join(deleter.db.Close(ctx), purger.db.Close(ctx)))
	})
}

// Only a field tells that another record has the slug of the person.
func TestForget_WaitsForChildrenAndKnowsWhatADeletedRecordWasCalled(t *testing.T) {
	eachHome(t, func(t *testing.T, s *memkv.Store, open func() home) {
		h := open()
		h.fill(t)
		must(t, h.Children.Create(ctx, &family.Child{ID: "x", Parent: "a", Toys: "made by " + person + "2"}))
		must(t, h.Parents.Delete(ctx, person))
		must(t, h.db.Flush(ctx))
		f, err := inspect.New(h.db).Forget(ctx, "Parent", person, inspect.Pace{})
		must(t, err)
		got := make(map[string]string)
		for _, trace := range f.Traces {
			got[trace.Key] = trace.What
		}
		if diff := cmp.Diff("its BySlug", got["r:Child:x"]); diff != "" {
			t.Errorf("what still names the person (-want +got)\n%s\nof %v", diff, got)
		}
		must(t, h.Children.Purge(ctx, "x"))
		wantNoTrace(t, s)
		must(t, h.db.Close(ctx))
	})
}

func TestDelete_WhatWaitsForChildrenIsNotDoneTwice(t *testing.T) {
	eachKind(t, kinds, func(t *testing.T, k kind, s *memkv.Store) {
		var mu sync.Mutex
		var written []string
		take := func() (keys []string) {
			mu.Lock()
			defer mu.Unlock()
			keys, written = written, nil
			return keys
		}
		h := openHome(t, tap{Store: k.opened(s), before: func(ops []kv.Op) error {
			mu.Lock()
			defer mu.Unlock()
			for _, op := range ops {
				if op.Kind != kv.Get && strings.Contains(op.Key, ":Parent:") && !strings.HasPrefix(op.Key, "ids:") {
					written = append(written, op.Key)
				}
			}
			return nil
		}})
		h.fill(t)
		must(t, h.Parents.Delete(ctx, person), h.db.Flush(ctx))
		if len(take()) == 0 {
			t.Fatal("the deletion has written nothing")
		}
		for range 20 {
			time.Sleep(time.Second)
			must(t, h.db.Flush(ctx))
		}
		if again := take(); len(again) > 0 {
			t.Errorf("while children were waited for, it has written %q", again)
		}
		must(t, h.db.Close(ctx))
	})
}

func TestPurge_RealStoresKeepNoByteOfAParent(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			look, use := lister(t, k)
			var ahead atomic.Int64
			h := openHome(t, use, kvmodel.Clock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }))
			defer func() { must(t, h.db.Close(ctx)) }()
			h.fill(t)
			if err := h.Parents.Purge(ctx, person); !k.atomic && !errors.Is(err, kvmodel.ErrNotYet) {
				t.Errorf("a Purge that deletes children returned %v, want ErrNotYet", err)
			}
			must(t, h.db.Flush(ctx)) // A change that took as long as the clock jumps would be in doubt.
			ahead.Add(int64(16 * time.Second))
			h.purge(t, 10*time.Millisecond)
			wantNoTraces(t, look, "what a Purge has left")
			for _, later := range []time.Duration{time.Minute, 2 * time.Hour} {
				ahead.Add(int64(later))
				must(t, errors.Join(h.db.Repair(ctx), h.db.Flush(ctx)))
				wantNoTraces(t, look, fmt.Sprint(later, " later"))
			}
		})
	}
}

func TestSweep_APurgeAfterACrashLeavesNothing(t *testing.T) {
	step := int64(151)
	if proof.Long() {
		step = 7
	}
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			for at, more := int64(1), true; more && !t.Failed(); at += step {
				synctest.Test(t, func(t *testing.T) { more = purgedAfterACrash(t, k, at) })
				if t.Failed() {
					t.Fatalf("the process died before trip %d", at)
				}
			}
		})
	}
}

func purgedAfterACrash(t *testing.T, k kind, at int64) bool {
	s := memkv.New(memkv.Options{})
	first := openHome(t, k.opened(s))
	first.fill(t)
	must(t, first.db.Close(ctx))

	h := &hooked{Store: distant(k.opened(s), 3*time.Millisecond)}
	dying := openHome(t, h)
	_, err := dying.Parents.Get(ctx, "a")
	must(t, err)
	h.at, h.hook = h.trips.Load()+at, func() { h.dead.Store(true) }
	for err = errors.New("it has not begun"); err != nil && !h.dead.Load(); time.Sleep(time.Second) {
		err = dying.Parents.Purge(ctx, person)
	}
	soon, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = dying.db.Close(soon)

	other := openHome(t, k.opened(s))
	if !k.atomic {
		time.Sleep(7 * time.Second)
		third := openHome(t, k.opened(s))
		defer func() { must(t, third.db.Close(ctx)) }()
	}
	other.purge(t, 20*time.Second)
	wantNoTrace(t, s)
	must(t, other.db.Close(ctx))
	return h.dead.Load()
}
