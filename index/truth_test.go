package index_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/memberlog"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// strange writes entries into knuth's list, as a process does that dies before its commit and its
// journal line.
func strange(t testing.TB, s kv.Store, entries ...memberlog.Entry) {
	t.Helper()
	strangeIn(t, s, "ByAuthor", "knuth", entries...)
}

func strangeIn(t testing.TB, s kv.Store, index, value string, entries ...memberlog.Entry) {
	t.Helper()
	l := &memberlog.Logs{
		Key:     func(place string) string { return "l:Book:" + index + ":" + place },
		Store:   s,
		Now:     time.Now,
		Soon:    func(func(context.Context) error) bool { return false },
		Limits:  memberlog.DefaultLimits,
		Confirm: func(context.Context, kv.Store, string, []memberlog.Entry) ([]memberlog.Entry, error) { return nil, nil },
	}
	for _, e := range entries {
		must(t, l.Write(t.Context(), s, value, e))
	}
}

// eachTruth runs f with books that have the given clock.
func eachTruth(t *testing.T, f func(t *testing.T, ctx context.Context, s kv.Store, clock *proof.Clock, b *books)) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		clock := proof.NewClock(time.Now())
		db, err := kvmodel.Open(shared{s}, kvmodel.Clock(clock.Now))
		must(t, err)
		f(t, ctx, s, clock, newBooks(closing(t, db)))
	})
}

func foldKnuth(t testing.TB, b *books) {
	t.Helper()
	ctx := t.Context()
	b.ByAuthor.Divide()
	proof.Done(t)(b.ByAuthor.Of("knuth").Count(ctx))
	must(t, b.db.Flush(ctx))
}

const farAhead = 1 << 46 // a rev that no record has yet

func TestList_AFoldKeepsNoEntryThatItsRecordContradicts(t *testing.T) {
	eachTruth(t, func(t *testing.T, ctx context.Context, s kv.Store, clock *proof.Clock, b *books) {
		var all []*book
		for i := range 20 {
			all = append(all, &book{ID: fmt.Sprint("k", i), Author: "knuth"}, &book{ID: fmt.Sprint("d", i), Author: "dijkstra"})
		}
		must(t, b.CreateMulti(ctx, all))
		must(t, b.db.Flush(ctx))
		want := idsOf(t, ctx, b.ByAuthor.Of("knuth"))
		for i := range 20 {
			strange(t, s, memberlog.Entry{ID: fmt.Sprint("d", i), Rev: 1, In: true})
		}
		foldKnuth(t, b)
		wantIDs(t, ctx, b.ByAuthor.Of("knuth"), want...)
		// a late copy does not bring one back
		strange(t, s, memberlog.Entry{ID: "d1", Rev: 1, In: true})
		wantIDs(t, ctx, b.ByAuthor.Of("knuth"), want...)
	})
}

func TestList_AnEntryThatIsStillPendingAMinuteAfterAFoldIsTakenOut(t *testing.T) {
	eachTruth(t, func(t *testing.T, ctx context.Context, s kv.Store, clock *proof.Clock, b *books) {
		must(t, b.Create(ctx, &book{ID: "a", Author: "knuth"}))
		must(t, b.Create(ctx, &book{ID: "b", Author: "dijkstra"}))
		must(t, b.db.Flush(ctx))
		strange(t, s,
			memberlog.Entry{ID: "ghost", Rev: farAhead, In: true}, // of a record that does not exist
			memberlog.Entry{ID: "b", Rev: farAhead, In: true})
		for range 3 {
			foldKnuth(t, b)
			wantIDs(t, ctx, b.ByAuthor.Of("knuth"), "a", "b", "ghost")
			clock.Advance(25 * time.Second)
		}
		proof.Done(t)(b.ByAuthor.Of("knuth").Size(ctx))
		must(t, b.db.Flush(ctx))
		wantIDs(t, ctx, b.ByAuthor.Of("knuth"), "a")
		wantIDs(t, ctx, b.ByAuthor.Of("dijkstra"), "b")
		must(t, b.Create(ctx, &book{ID: "ghost", Author: "knuth"}))
		wantIDs(t, ctx, b.ByAuthor.Of("knuth"), "a", "ghost")
	})
}

func TestList_AnEntryThatIsStillPendingAMinuteAfterAPageIsTakenOut(t *testing.T) {
	eachTruth(t, func(t *testing.T, ctx context.Context, s kv.Store, clock *proof.Clock, b *books) {
		must(t, b.Create(ctx, &book{ID: "a", Author: "knuth"}))
		must(t, b.db.Flush(ctx))
		for i := range 10 {
			strange(t, s, memberlog.Entry{ID: fmt.Sprint("ghost", i), Rev: farAhead, In: true})
		}
		for range 2 {
			p, err := b.ByAuthor.Of("knuth").Page(ctx, "", 20)
			must(t, err)
			must(t, b.db.Flush(ctx))
			proof.NoDiff(t, cmp.Diff([]string{"a"}, bookIDs(p.Items)), "a page")
			clock.Advance(61 * time.Second)
		}
		wantIDs(t, ctx, b.ByAuthor.Of("knuth"), "a")
	})
}

// The rev of a new record is the time.
func TestList_APageTakesOutAnEntryOfANewRecordThatIsAMinuteOld(t *testing.T) {
	eachTruth(t, func(t *testing.T, ctx context.Context, s kv.Store, clock *proof.Clock, b *books) {
		for _, id := range []string{"a", "gone"} {
			must(t, b.Create(ctx, &book{ID: id, Author: "dijkstra"}))
		}
		must(t, b.Delete(ctx, "gone"))
		must(t, b.db.Flush(ctx))
		clock.Advance(time.Second)
		for i := range 10 {
			strange(t, s, memberlog.Entry{ID: fmt.Sprint("ghost", i), Rev: uint64(clock.Now().UnixMilli()), In: true})
		}
		strange(t, s, memberlog.Entry{ID: "gone", Rev: uint64(clock.Now().UnixMilli()), In: true})
		clock.Advance(61 * time.Second)
		for range 11 { // a page repairs one
			proof.Done(t)(b.ByAuthor.Of("knuth").Page(ctx, "", 20))
			must(t, b.db.Flush(ctx))
		}
		wantIDs(t, ctx, b.ByAuthor.Of("knuth"))
	})
}

func TestList_AFoldKeepsAnEntryWhoseChangeCommitsLater(t *testing.T) {
	eachTruth(t, func(t *testing.T, ctx context.Context, s kv.Store, clock *proof.Clock, b *books) {
		must(t, b.Create(ctx, &book{ID: "a", Author: "knuth"}))
		must(t, b.Create(ctx, &book{ID: "b", Author: "dijkstra"}))
		must(t, b.db.Flush(ctx))
		late := memberlog.Entry{ID: "b", Rev: 1 + revOf(t, b, "b"), In: true}
		strange(t, s, late)
		foldKnuth(t, b)
		proof.Done(t)(b.Update(ctx, "b", func(b *book) error { b.Author = "knuth"; return nil }))
		for range 3 {
			foldKnuth(t, b)
			clock.Advance(time.Minute)
			wantIDs(t, ctx, b.ByAuthor.Of("knuth"), "a", "b")
			must(t, b.db.Flush(ctx))
		}
		proof.Equal(t, revOf(t, b, "b"), late.Rev, "the record was fenced: it is at rev")
	})
}

func TestLists_Rebuild_TakesOutWhatNoRecordConfirms(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		b := newBooks(closing(t, open(t, shared{s})))
		must(t, b.Create(ctx, &book{ID: "a", Author: "knuth"}))
		must(t, b.Create(ctx, &book{ID: "b", Author: "dijkstra"}))
		must(t, b.db.Flush(ctx))
		strange(t, s,
			memberlog.Entry{ID: "b", Rev: 1, In: true},
			memberlog.Entry{ID: "ghost", Rev: farAhead, In: true})
		wantIDs(t, ctx, b.ByAuthor.Of("knuth"), "a", "b", "ghost")
		must(t, b.Rebuild(ctx))
		wantIDs(t, ctx, b.ByAuthor.Of("knuth"), "a")
		wantIDs(t, ctx, b.ByAuthor.Of("dijkstra"), "b")
	})
}

// The definition of the index changed, and was changed back.
func TestLists_Rebuild_EntersWhatAnEntryOfTheSameRevTookOut(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		b := newBooks(closing(t, open(t, shared{s})))
		must(t, b.Create(ctx, &book{ID: "a", Author: "knuth"}))
		must(t, b.db.Flush(ctx))
		strange(t, s, memberlog.Entry{ID: "a", Rev: revOf(t, b, "a"), At: time.Now().Unix()})
		wantIDs(t, ctx, b.ByAuthor.Of("knuth"))
		must(t, b.Rebuild(ctx))
		wantIDs(t, ctx, b.ByAuthor.Of("knuth"), "a")
	})
}

func revOf(t testing.TB, b *books, id string) uint64 {
	t.Helper()
	recs, err := b.ByAuthor.Host().See(t.Context(), b.db.Store(), id)
	must(t, err)
	return recs[0].Rev
}
