package index_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/proof"
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
	proof.Equal(t, counterOf(t, ctx, s, "go"), want, "the counter")
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
		proof.Equal(t, heard, 1, "OnChange was called")
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
		proof.Ends(t, kvmodel.ErrNeedsRebuild)(b.ByTags.Of("tag99").Page(soon, "", 5))
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
				proof.Done(t)(kv.One(ctx, mem, kv.OpIncrement("c:Tag:Books:go", 1)))
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

type tag struct {
	Name  string
	Books int64 `json:"-"`
}

func newTags(db *kvmodel.DB) *kvmodel.Records[tag, string] {
	return kvmodel.NewRecords(db, schemaOf("Tag", func(v *tag) *string { return &v.Name }, func(s *kvmodel.Schema[tag, string]) {
		s.Counters = []kvmodel.CounterOf[tag]{{Name: "Books", Derived: true, Set: func(v *tag, n int64) { v.Books = n }}}
	}))
}

type shelf struct {
	*books
	tags *kvmodel.Records[tag, string]
}

func openShelf(t testing.TB, s kv.Store) shelf {
	db := closing(t, open(t, s))
	return shelf{newBooks(db), newTags(db)}
}

// meddling calls before ahead of the next commit of a record.
func meddling(s kv.Store, before *proof.Hook) kv.Store {
	return hooked{shared{s}, func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		if slices.ContainsFunc(ops, writesRecord) {
			before.Run()
		}
		return s.Do(ctx, ops)
	}}
}

func writesRecord(op kv.Op) bool { return op.Kind.Writes() && strings.HasPrefix(op.Key, "r:") }

var errGaveUp = errors.New("gave up")

// tagTwice gives book a the tag kv in a change that loses its first try, and calls second in the
// next.
func (f shelf) tagTwice(t *testing.T, ctx context.Context, second func(*book) error) {
	t.Helper()
	tries := 0
	_, err := f.Update(ctx, "a", func(b *book) error {
		if tries++; tries > 1 {
			return second(b)
		}
		b.Tags = []string{"kv"}
		return nil
	})
	if err != nil && !errors.Is(err, errGaveUp) || tries != 2 {
		t.Errorf("%d tries, %v", tries, err)
	}
}

func TestDerivedCount_AChangeThatLostAndGaveUpIsTakenBack(t *testing.T) {
	for name, second := range map[string]func(b *book) error{
		"gives up":               func(*book) error { return errGaveUp },
		"decides otherwise":      func(b *book) error { b.Tags = []string{"go", "sql"}; return nil },
		"changes something else": func(b *book) error { b.N = 9; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			ctx, mem := t.Context(), memkv.New(memkv.Options{})
			var before proof.Hook
			f, other := openShelf(t, meddling(still{mem}, &before)), openShelf(t, still{mem})
			must(t, f.Create(ctx, &book{ID: "a", Tags: []string{"go"}}))
			before.Set(func() {
				proof.Done(t)(other.Update(ctx, "a", func(b *book) error { b.N = 1; return nil }))
			})
			f.tagTwice(t, ctx, second)
			must(t, f.db.Flush(ctx))
			want := map[string]int64{"go": 1, "sql": 0}
			if name == "decides otherwise" {
				want["sql"] = 1
			}
			for tag, n := range want {
				proof.Equal(t, counterOf(t, ctx, mem, tag), n, "%s", tag)
			}
			proof.Equal(t, counterOf(t, ctx, mem, "kv"), 0, "kv")
		})
	}
}

type vote struct {
	ID, Page string
	N        int
}

func newVotes(db *kvmodel.DB) *kvmodel.Records[vote, string] {
	r := kvmodel.NewRecords(db, schemaOf("Vote", func(v *vote) *string { return &v.ID }))
	index.NewLists(r, kvmodel.IndexSpec[vote, string]{
		Name: "ByPage", Def: "list Page string", Key: kvmodel.StringKey[string](),
		Values: func(v *vote) []string { return []string{v.Page} },
	}, index.Counted("Tag", "Books"))
	return r
}

// A change that lost against one to the same value has nothing left to move.
func TestDerivedCount_WhatATryAddedIsTakenBackByOneThatMovesNothing(t *testing.T) {
	for name, doubt := range map[string]bool{"counted": false, "in doubt": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, mem := t.Context(), memkv.New(memkv.Options{})
				var before proof.Hook
				db, otherDB := open(t, meddling(still{mem}, &before)), open(t, still{mem})
				votes, others := newVotes(db), newVotes(otherDB)
				must(t, votes.Create(ctx, &vote{ID: "first", Page: "go"}))
				before.Set(func() {
					must(t, others.Create(ctx, &vote{ID: "a", Page: "go"}))
					if doubt {
						mem.Evict("c:Tag:Books:go") // the addition of this try finds no number
					}
				})
				must(t, votes.Put(ctx, &vote{ID: "a", Page: "go", N: 1}))
				if n := db.Stats().InDoubt; (n > 0) != doubt {
					t.Errorf("%d counts are in doubt", n)
				}
				if !doubt {
					wantCount(t, ctx, mem, 2)
				}
				time.Sleep(2 * time.Minute)
				wantCount(t, ctx, mem, 2)
				if s := db.Stats(); s.InDoubt != 0 || s.Lines != 0 {
					t.Errorf("stats %+v, want nothing left", s)
				}
				must(t, db.Close(ctx))
				must(t, otherDB.Close(ctx))
			})
		})
	}
}

// The record counts in that number by then, so the change has nothing left to move.
func TestDerivedCount_WhatALostTryAddedIsTakenBackWhereTheRecordIsByThen(t *testing.T) {
	ctx, mem := t.Context(), memkv.New(memkv.Options{})
	var before proof.Hook
	db := closing(t, open(t, meddling(still{mem}, &before)))
	f, other := shelf{booksOf(db, lastingBooks), newTags(db)}, booksOf(closing(t, open(t, still{mem})), lastingBooks)
	must(t, f.Create(ctx, &book{ID: "a"}))
	before.Set(func() {
		proof.Done(t)(other.Update(ctx, "a", func(b *book) error { b.Tags = []string{"kv"}; return nil }))
	})
	f.tagTwice(t, ctx, func(b *book) error { b.Tags, b.N = []string{"kv"}, 9; return nil })
	proof.Equal(t, counterOf(t, ctx, mem, "kv"), 1, "kv")
}

// tearing carries out the additions to numbers in the trip of a commit, calls between, and carries
// out the rest.
func tearing(s kv.Store, between *proof.Hook) kv.Store {
	return hooked{shared{s}, func(ctx context.Context, s kv.Store, ops []kv.Op) error {
		if !between.IsSet() || !slices.ContainsFunc(ops, writesRecord) {
			return s.Do(ctx, ops)
		}
		for _, adds := range []bool{true, false} {
			for i := range ops {
				if (ops[i].Kind == kv.Increment) == adds {
					_ = s.Do(ctx, ops[i:i+1])
				}
			}
			if adds {
				between.Run()
			}
		}
		return kv.Unanswered(ops)
	}}
}

func TestDerivedCount_WhatATryAddedBeforeARecountIsCountedAgain(t *testing.T) {
	for name, second := range map[string]func(b *book) error{
		"gives up":    func(*book) error { return errGaveUp },
		"tries again": func(b *book) error { b.Tags = []string{"kv"}; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, mem := t.Context(), memkv.New(memkv.Options{})
				var between proof.Hook
				f, other := openShelf(t, tearing(still{mem}, &between)), openShelf(t, still{mem})
				must(t, f.Create(ctx, &book{ID: "a", Tags: []string{"go"}}))
				must(t, other.Create(ctx, &book{ID: "b", Tags: []string{"kv"}}))
				between.Set(func() {
					_, err := other.Update(ctx, "a", func(b *book) error { b.N = 1; return nil })
					must(t, err)
					_, err = other.db.Derived("Tag", "Books").Recount(ctx, other.db.Store(), []string{"go", "kv"}, 5, func(string) error { return nil })
					must(t, err)
				})
				f.tagTwice(t, ctx, second)
				time.Sleep(2 * time.Minute)
				want := map[string]int64{"go": 1, "kv": 1}
				if name == "tries again" {
					want = map[string]int64{"go": 0, "kv": 2}
				}
				for tag, n := range want {
					proof.Equal(t, counterOf(t, ctx, mem, tag), n, "%s", tag)
				}
			})
		})
	}
}

func TestDerivedCount_OneThatIsLostIsInDoubtAndCountedFromTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		f := openShelf(t, still{mem})
		for i := range 3 {
			must(t, f.Create(ctx, &book{ID: fmt.Sprint(i), Tags: []string{"go"}}))
		}
		mem.Evict("c:Tag:Books:go")
		must(t, f.Create(ctx, &book{ID: "x", Tags: []string{"go"}}))
		must(t, f.db.Flush(ctx))
		if s := f.db.Stats(); s.InDoubt != 1 || s.Lines != 1 {
			t.Errorf("stats %+v, want one count in doubt, with its line", s)
		}
		time.Sleep(2 * time.Minute)
		wantCount(t, ctx, mem, 4)

		// another process has not seen the number, and finds it missing
		mem.Evict("c:Tag:Books:go")
		other := openShelf(t, still{mem})
		must(t, other.Create(ctx, &book{ID: "y", Tags: []string{"go"}}))
		time.Sleep(2 * time.Minute)
		wantCount(t, ctx, mem, 5)
		proof.Equal(t, f.db.Stats().InDoubt+other.db.Stats().InDoubt, 0, "counts are in doubt")
	})
}

func TestDerivedCount_IsSaidToBeInDoubtBeforeTheReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		late := &refusing{Store: still{mem}, which: func(op *kv.Op) bool { return op.Kind == kv.Increment || removal(op) }}
		other, f := openShelf(t, still{mem}), openShelf(t, late)
		must(t, other.Create(ctx, &book{ID: "a", Tags: []string{"go"}}))
		late.refuses.Store(true)
		proof.Done(t)(f.Update(ctx, "a", func(b *book) error { b.Tags = []string{"kv"}; return nil }))
		proof.Equal(t, f.db.Stats().InDoubt, 2, "counts are in doubt")
		late.refuses.Store(false)
		time.Sleep(2 * time.Minute)
		wantCount(t, ctx, mem, 0)
		proof.Equal(t, counterOf(t, ctx, mem, "kv"), 1, "kv")
		proof.Equal(t, f.db.Stats().InDoubt, 0, "counts are in doubt")
	})
}

func TestDerivedCount_DoesNotCountWhatNoRecordConfirms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		f := openShelf(t, still{mem})
		must(t, f.Create(ctx, &book{ID: "a", Tags: []string{"go"}}))
		must(t, f.Create(ctx, &book{ID: "b", Tags: []string{"kv"}}))
		must(t, f.db.Flush(ctx))
		strangeIn(t, still{mem}, "ByTags", "go",
			memberlog.Entry{ID: "b", Rev: 1, In: true}, // contradicted by its record
			memberlog.Entry{ID: "ghost", Rev: uint64(time.Now().UnixMilli()), In: true})
		mem.Evict("c:Tag:Books:go")
		must(t, f.Create(ctx, &book{ID: "x", Tags: []string{"go"}}))
		time.Sleep(3 * time.Minute)
		wantCount(t, ctx, mem, 2)
		wantIDs(t, ctx, f.ByTags.Of("go"), "a", "x")
		wantIDs(t, ctx, f.ByTags.Of("kv"), "b")
		proof.Equal(t, f.db.Stats().InDoubt, 0, "counts are in doubt")
	})
}
