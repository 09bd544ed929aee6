package index_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// mumbling does not carry out the first addition to a counter, and answers it as unclear.
type mumbling struct {
	kv.Store
	mu   sync.Mutex
	done bool
}

func (m *mumbling) Powers() kv.Powers { return kv.Powers{Unless: true, Ordered: true} }
func (m *mumbling) Close() error      { return nil }

func (m *mumbling) Do(ctx context.Context, ops []kv.Op) error {
	var rest []kv.Op
	at := -1
	for i, op := range ops {
		if at < 0 && strings.HasPrefix(op.Key, "c:") && op.Kind == kv.Increment && m.first() {
			at = i
			continue
		}
		rest = append(rest, op)
	}
	if at < 0 {
		return m.Store.Do(ctx, ops)
	}
	_ = m.Store.Do(ctx, rest)
	ops[at].Result = kv.Result{Err: kv.ErrUnclear}
	for i := range rest {
		place := i
		if i >= at {
			place++
		}
		ops[place].Result = rest[i].Result
		if rest[i].Chain == ops[at].Chain && rest[i].Result.Err != nil {
			ops[at].Result, m.done = kv.Result{Err: kv.ErrSkipped}, false
		}
	}
	return kv.Unanswered(ops)
}

func (m *mumbling) first() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	was := m.done
	m.done = true
	return !was
}

func wantCount(t testing.TB, ctx context.Context, s kv.Store, want int64) {
	t.Helper()
	if n := counterOf(t, ctx, s, "go"); n != want {
		t.Errorf("the counter says %d, want %d", n, want)
	}
}

func TestDerivedCount_AnUnclearAdditionIsNoFailureAndComesOutRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		b := newBooks(open(t, &mumbling{Store: mem}))
		heard := 0
		b.OnChange(func(context.Context, kvmodel.Change[book, string]) error { heard++; return nil })
		must(t, b.Create(ctx, &book{ID: "a", Tags: []string{"go"}}))
		must(t, b.db.Flush(ctx))
		failed := b.db.Stats().Failed
		if s := b.db.Stats(); failed > 1 || s.Waiting != 1 || s.Lines != 1 {
			t.Errorf("stats %+v, want one change that waits, with its line", s)
		}
		wantCount(t, ctx, mem, 0)
		time.Sleep(2 * time.Minute)
		wantCount(t, ctx, mem, 1)
		if s := b.db.Stats(); s.Failed != failed || s.Waiting != 0 || s.Lines != 0 {
			t.Errorf("stats %+v, want nothing left and no other failure than before", s)
		}
		must(t, b.db.Close(ctx))
		if heard != 1 {
			t.Errorf("OnChange was called %d times for the change, want once", heard)
		}
	})
}

// An index that must be counted waits. Others are whole before that.
func TestRebuild_HoldsNoIndexBackForTheCountOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		b := newBooks(open(t, still{mem}))
		for i := range 100 {
			must(t, b.Create(ctx, &book{ID: fmt.Sprint(i), Author: fmt.Sprint("author", i), Year: 1, Tags: []string{fmt.Sprint("tag", i)}}))
		}
		must(t, b.db.Close(ctx))
		mem.Evict("built:Book")
		b = newBooks(open(t, still{mem}))
		var ended sync.WaitGroup
		ended.Go(func() { must(t, b.Rebuild(ctx)) })
		time.Sleep(5 * time.Second)
		wantIDs(t, ctx, b.ByAuthor.Of("author99"), "99")
		wantIDs(t, ctx, b.ByAuthorYear.Of(authorYear{"author99", 1}), "99")
		soon, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if _, err := b.ByTags.Of("tag99").Page(soon, "", 5); !errors.Is(err, kvmodel.ErrNeedsRebuild) {
			t.Errorf("a list that is still counted: %v, want an ErrNeedsRebuild", err)
		}
		ended.Wait()
		wantIDs(t, ctx, b.ByTags.Of("tag99"), "99")
		must(t, b.db.Close(ctx))
	})
}

func TestDerivedCount_RebuildReportsACounterThatKeepsChangingAndTheListsAreWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		b := newBooks(open(t, still{mem}))
		must(t, b.Create(ctx, &book{ID: "a", Tags: []string{"go"}}))
		must(t, b.db.Flush(ctx))
		busy, end := context.WithCancel(ctx)
		var ended sync.WaitGroup
		ended.Go(func() {
			for busy.Err() == nil {
				_, err := kv.One(ctx, mem, kv.OpIncrement("c:Tag:Books:go", 1))
				must(t, err)
				time.Sleep(5 * time.Second)
			}
		})
		begun := time.Now()
		err := b.Rebuild(ctx)
		if !errors.Is(err, kvmodel.ErrNotYet) || !strings.Contains(err.Error(), "Book.ByTags: counters of 1 values") {
			t.Errorf("rebuild: %v, want an ErrNotYet that names the index", err)
		}
		if took := time.Since(begun); took > 2*time.Minute {
			t.Errorf("it took %v", took)
		}
		wantIDs(t, ctx, b.ByTags.Of("go"), "a")
		end()
		ended.Wait()
		must(t, b.Rebuild(ctx))
		wantCount(t, ctx, mem, 1)
		must(t, b.db.Close(ctx))
	})
}
