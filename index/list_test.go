package index_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/internal/plug"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

// book is a record in lists by a field, by a slice and by two fields.
type book struct {
	ID     string
	Author string
	Tags   []string
	Year   int64
	Gone   time.Time
	N      int
}

type authorYear struct {
	Author string
	Year   int64
}

type books struct {
	*kvmodel.Records[book, string]
	db           *kvmodel.DB
	ByAuthor     *index.Lists[book, string, string]
	ByTags       *index.Lists[book, string, string]
	ByAuthorYear *index.Lists[book, string, authorYear]
}

func newBooks(db *kvmodel.DB) *books {
	schema := lastingBooks
	schema.Expires = func(b *book) *time.Time { return &b.Gone }
	return booksOf(db, schema)
}

var lastingBooks = schemaOf("Book", func(b *book) *string { return &b.ID })

func booksOf(db *kvmodel.DB, schema kvmodel.Schema[book, string]) *books {
	r := kvmodel.NewRecords(db, schema)
	return &books{
		Records: r, db: db,
		ByAuthor: index.NewLists(r, kvmodel.IndexSpec[book, string]{
			Name: "ByAuthor", Def: "list Author string", Fields: []string{"Author"}, Key: kvmodel.StringKey[string](),
			Values: func(b *book) []string { return []string{b.Author} },
		}),
		ByTags: index.NewLists(r, kvmodel.IndexSpec[book, string]{
			Name: "ByTags", Def: "list Tags string each", Fields: []string{"Tags"}, Key: kvmodel.StringKey[string](),
			Values: func(b *book) []string { return b.Tags },
		}, index.Counted("Tag", "Books")),
		ByAuthorYear: index.NewLists(r, kvmodel.IndexSpec[book, authorYear]{
			Name: "ByAuthorYear", Def: "list Author,Year string int", Fields: []string{"Author", "Year"},
			Key: kvmodel.Key2(kvmodel.StringKey[string](), kvmodel.IntKey[int64](),
				func(k authorYear) (string, int64) { return k.Author, k.Year },
				func(a string, y int64) authorYear { return authorYear{a, y} }),
			Values: func(b *book) []authorYear { return []authorYear{{b.Author, b.Year}} },
			If:     func(b *book) bool { return b.Year != 0 },
		}),
	}
}

func eachKind(t *testing.T, f func(t *testing.T, ctx context.Context, mem *memkv.Store, s kv.Store)) {
	for _, kind := range []struct {
		name string
		as   func(kv.Store) kv.Store
	}{
		{"atomic", func(s kv.Store) kv.Store { return s }},
		{"unless", func(s kv.Store) kv.Store { return server{s} }},
		{"plain", func(s kv.Store) kv.Store { return plain{s} }},
	} {
		t.Run(kind.name, func(t *testing.T) {
			mem := memkv.New(memkv.Options{})
			f(t, t.Context(), mem, kind.as(mem))
		})
	}
}

type server struct{ kv.Store }

func (server) Powers() kv.Powers { return kv.Powers{Unless: true, Ordered: true} }

func idsOf(t testing.TB, ctx context.Context, l *index.List[book, string]) []string {
	t.Helper()
	var ids []string
	for id, err := range l.IDs(ctx) {
		must(t, err)
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func bookIDs(bs []*book) []string { return kv.Texts(bs, func(b *book) string { return b.ID }) }

func wantIDs(t testing.TB, ctx context.Context, l *index.List[book, string], want ...string) {
	t.Helper()
	proof.NoDiff(t, cmp.Diff(want, idsOf(t, ctx, l)), "ids")
	n, err := l.Count(ctx)
	if size, sizeErr := l.Size(ctx); err != nil || sizeErr != nil || n != len(want) || size != len(want) {
		t.Errorf("Count %d, %v and Size %d, %v; want %d", n, err, size, sizeErr, len(want))
	}
}

func TestLists_ARecordIsInTheListsOfItsValuesAndInNoOthers(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		b := newBooks(closing(t, open(t, s)))
		must(t, b.CreateMulti(ctx, []*book{
			{ID: "a", Author: "knuth", Tags: []string{"go", "kv"}, Year: 1968},
			{ID: "b", Author: "knuth", Tags: []string{"kv", "kv"}},
			{ID: "c", Author: ""},
		}))
		proof.Done(t)(b.Update(ctx, "a", func(b *book) error { b.Tags = []string{"kv", "web"}; return nil }))
		must(t, b.db.Flush(ctx))
		wantIDs(t, ctx, b.ByAuthor.Of("knuth"), "a", "b")
		wantIDs(t, ctx, b.ByAuthor.Of(""))
		wantIDs(t, ctx, b.ByTags.Of("go"))
		wantIDs(t, ctx, b.ByTags.Of("kv"), "a", "b")
		wantIDs(t, ctx, b.ByTags.Of("web"), "a")
		wantIDs(t, ctx, b.ByAuthorYear.Of(authorYear{"knuth", 1968}), "a")
		must(t, b.Delete(ctx, "a"))
		must(t, b.db.Flush(ctx))
		wantIDs(t, ctx, b.ByTags.Of("kv"), "b")
		wantIDs(t, ctx, b.ByAuthorYear.Of(authorYear{"knuth", 1968}))
		for id, want := range map[string]bool{"a": false, "b": true, "nobody": false} {
			if in, err := b.ByAuthor.Of("knuth").Contains(ctx, id); err != nil || in != want {
				t.Errorf("Contains %s: %v, %v; want %v", id, in, err, want)
			}
		}
	})
}

// pages returns the ids of all pages from the beginning, and of all back from the end.
func pages(t testing.TB, ctx context.Context, l *index.List[book, string], n int) (onward, back [][]string) {
	t.Helper()
	var last kvmodel.Listing[book]
	for cursor, first := "", true; first || cursor != ""; first = false {
		p, err := l.Page(ctx, cursor, n)
		must(t, err)
		onward = append(onward, bookIDs(p.Items))
		cursor, last = p.Next, p
	}
	back = append(back, bookIDs(last.Items))
	for cursor := last.Prev; cursor != ""; {
		p, err := l.Page(ctx, cursor, n)
		must(t, err)
		back = append(back, bookIDs(p.Items))
		cursor = p.Prev
	}
	return onward, back
}

func TestList_Page_ShowsEveryRecordOnceInBothDirections(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		b := newBooks(closing(t, open(t, s)))
		want := createBooks(t, ctx, b, 300)
		l := b.ByAuthor.Of("knuth")
		for range l.All(ctx) {
			break // a reader may stop early
		}
		var got []string
		for v, err := range l.All(ctx) {
			must(t, err)
			got = append(got, v.ID)
		}
		if slices.Sort(got); !slices.Equal(want, got) {
			t.Errorf("All yields %d records of %d", len(got), len(want))
		}
		for _, n := range []int{7, 100} {
			onward, back := pages(t, ctx, l, n)
			all := slices.Concat(onward...)
			slices.Sort(all)
			proof.NoDiff(t, cmp.Diff(want, all), "by %d", n)
			for i, p := range onward[:len(onward)-1] {
				proof.Equal(t, len(p), n, "page %d", i)
			}
			slices.Reverse(back)
			if len(back) == len(onward) {
				// from the end, the first page is the short one
				onward, back = [][]string{slices.Concat(onward...)}, [][]string{slices.Concat(back...)}
			}
			proof.NoDiff(t, cmp.Diff(onward, back), "by %d, onward and back", n)
		}
	})
}

func createBooks(t testing.TB, ctx context.Context, b *books, n int) (ids []string) {
	t.Helper()
	var all []*book
	for range n {
		all = append(all, &book{Author: "knuth"})
	}
	must(t, b.CreateMulti(ctx, all))
	must(t, b.db.Flush(ctx))
	for _, b := range all {
		ids = append(ids, b.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestList_Page_LeavesOutRecordsAndFillsUp(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		b := newBooks(closing(t, open(t, s)))
		var all []*book
		for i := range 40 {
			all = append(all, &book{ID: fmt.Sprint("b", i), Author: "knuth", N: i})
		}
		must(t, b.CreateMulti(ctx, all))
		even := func(b *book) bool { return b.N%2 == 0 }
		seen := map[string]bool{}
		for cursor, first := "", true; first || cursor != ""; first = false {
			p, err := b.ByAuthor.Of("knuth").Page(ctx, cursor, 5, even)
			must(t, err)
			if len(p.Items) != 5 && p.Next != "" {
				t.Errorf("a page of %d with more to come", len(p.Items))
			}
			for _, b := range p.Items {
				if !even(b) || seen[b.ID] {
					t.Errorf("%s is kept or comes again", b.ID)
				}
				seen[b.ID] = true
			}
			cursor = p.Next
		}
		proof.Equal(t, len(seen), 20, "records")
	})
}

func TestList_Page_RefusesACursorThatIsNotItsOwn(t *testing.T) {
	ctx := t.Context()
	b := newBooks(closing(t, open(t, memkv.New(memkv.Options{}))))
	createBooks(t, ctx, b, 30)
	p, err := b.ByAuthor.Of("knuth").Page(ctx, "", 10)
	must(t, err)
	for name, cursor := range map[string]string{
		"no cursor":          "hello",
		"cut":                p.Next[:len(p.Next)-2],
		"no direction":       plug.Cursor(`Book.ByAuthor "knuth"`, nil),
		"a direction beyond": plug.Cursor(`Book.ByAuthor "knuth"`, []byte("?x")),
	} {
		_, err := b.ByAuthor.Of("knuth").Page(ctx, cursor, 10)
		if !errors.Is(err, kvmodel.ErrBadCursor) {
			t.Errorf("%s: got %v, want ErrBadCursor", name, err)
		}
	}
	proof.Ends(t, kvmodel.ErrBadCursor)(b.ByAuthor.Of("dijkstra").Page(ctx, p.Next, 10))
	for _, n := range []int{-1, 0, 1001} {
		if _, err := b.ByAuthor.Of("knuth").Page(ctx, "", n); !errors.Is(err, kvmodel.ErrInvalid) {
			t.Errorf("a page of %d: got %v, want ErrInvalid", n, err)
		}
	}
	// a valid cursor is only a position
	forged := plug.Cursor(`Book.ByAuthor "knuth"`, []byte("<zzz"))
	proof.Ends(t, nil)(b.ByAuthor.Of("knuth").Page(ctx, forged, 10))
}

func TestLists_ARecordThatIsMadeAgainAfterItsEndIsListedWhateverTheClocksSay(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"behind": -10 * time.Minute, "right": 0, "ahead": 10 * time.Minute} {
		t.Run("a clock is "+name, func(t *testing.T) {
			clock := proof.NewClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
			ctx := t.Context()
			s := memkv.New(memkv.Options{Now: clock.Now})
			process := func(ahead time.Duration) *books {
				db, err := kvmodel.Open(shared{s}, kvmodel.Clock(func() time.Time { return clock.Now().Add(ahead) }))
				must(t, err)
				return newBooks(closing(t, db))
			}
			first, second := process(ahead), process(0)
			for _, pair := range [][]*books{{first, second}, {second, first}} {
				id := fmt.Sprint(clock.Now().Unix())
				gone := clock.Now().Add(11 * time.Minute)
				must(t, pair[0].Create(ctx, &book{ID: id, Author: id, Gone: gone}))
				// a process refuses another record until its clock says that the first has ended
				err := kv.ErrExists
				for tries := 0; tries < 40 && errors.Is(err, kv.ErrExists); tries++ {
					clock.Advance(time.Minute)
					err = pair[1].Create(ctx, &book{ID: id, Author: id})
				}
				must(t, err)
				for range 2 {
					wantIDs(t, ctx, first.ByAuthor.Of(id), id)
					wantIDs(t, ctx, second.ByAuthor.Of(id), id)
					clock.Advance(time.Hour)
				}
			}
		})
	}
}

func TestLists_AnyBytesNameTheirOwnList(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		b := newBooks(closing(t, open(t, s)))
		values := []string{"a:b", "a%3Ab", "a", "a b", "\x00\xff", "#0", "ä", strings.Repeat("x", 300), strings.Repeat("x", 301), "+a@1", "\n"}
		for _, v := range values {
			must(t, b.Create(ctx, &book{ID: "of " + v, Author: v}))
		}
		for _, v := range values {
			wantIDs(t, ctx, b.ByAuthor.Of(v), "of "+v)
		}
	})
}

func TestLists_AnIDThatIsTooLongForAListIsRefusedAndNothingIsStored(t *testing.T) {
	eachKind(t, func(t *testing.T, ctx context.Context, _ *memkv.Store, s kv.Store) {
		b := newBooks(closing(t, open(t, s)))
		for _, bad := range []*book{
			{ID: strings.Repeat("x", 1<<20), Author: "knuth"},
			{ID: "a", Author: strings.Repeat("x", 1<<20)},
		} {
			proof.Is(t, b.Create(ctx, bad), kv.ErrTooLarge)
			proof.Ends(t, kv.ErrNotFound)(b.Get(ctx, bad.ID))
		}
		must(t, b.Create(ctx, &book{ID: strings.Repeat("x", plug.MaxID), Author: "knuth"}))
		wantIDs(t, ctx, b.ByAuthor.Of("knuth"), strings.Repeat("x", plug.MaxID))
	})
}

type refusing struct {
	kv.Store
	which   func(op *kv.Op) bool
	refuses atomic.Bool
}

func (r *refusing) Powers() kv.Powers { return kv.PowersOf(r.Store) }

func (r *refusing) Do(ctx context.Context, ops []kv.Op) error {
	return answering(r.Store, func(op *kv.Op) bool {
		if !r.refuses.Load() || !r.which(op) {
			return false
		}
		op.Result.Err = kv.ErrUnavailable
		return true
	}).Do(ctx, ops)
}

func removal(op *kv.Op) bool {
	const out = 3
	return entry(op) && op.Value[0] == out
}

func entry(op *kv.Op) bool { return op.Kind == kv.Append && ofList(op) }

func ofList(op *kv.Op) bool { return strings.HasPrefix(op.Key, "l:") }

// Another process sealed the segment and died, so an entry appended later is lost. The writer
// cannot find that out before it replies.
func TestList_SizeAndCount_HaveAnEntryThatMayNotStand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, mem := t.Context(), memkv.New(memkv.Options{})
		var committed, replied atomic.Bool
		late := &refusing{Store: still{mem}, which: func(op *kv.Op) bool {
			if op.Key == "r:Book:b" && op.Kind != kv.Get {
				committed.Store(true)
			}
			return committed.Load() && ofList(op) && (op.Kind != kv.Get || !replied.Load())
		}}
		b, dying := newBooks(open(t, late)), &mute{}
		must(t, b.Create(ctx, &book{ID: "a", Author: "knuth"}))
		must(t, b.db.Flush(ctx))
		dying.Store = kv.Trace(still{mem}, func(_ context.Context, trip kv.Trip) {
			if slices.ContainsFunc(trip.Ops, func(op kv.Op) bool { return entry(&op) }) {
				dying.cut.Store(true)
			}
		})
		other := newBooks(open(t, dying))
		other.ByAuthor.Divide()
		proof.Done(t)(other.ByAuthor.Of("knuth").Count(ctx))
		synctest.Wait()
		if !dying.cut.Load() {
			t.Fatal("nothing has sealed the segment")
		}

		late.refuses.Store(true)
		must(t, b.Create(ctx, &book{ID: "b", Author: "knuth"}))
		replied.Store(true)
		wantIDs(t, ctx, newBooks(closing(t, open(t, still{mem}))).ByAuthor.Of("knuth"), "a")
		wantIDs(t, ctx, b.ByAuthor.Of("knuth"), "a", "b")

		late.refuses.Store(false)
		must(t, b.db.Close(ctx))
		wantIDs(t, ctx, newBooks(closing(t, open(t, still{mem}))).ByAuthor.Of("knuth"), "a", "b")
		dying.cut.Store(false)
		must(t, other.db.Close(ctx))
	})
}

// A change that lost a race may have entered the record with an end of its own, at the rev of the
// winner's commit.
func TestList_ALostRaceLeavesNoEndOfItsOwn(t *testing.T) {
	for _, c := range []struct {
		name      string
		won, lost time.Duration
		want      int // two minutes later
	}{
		{"the loser's is sooner", time.Hour, time.Minute, 1},
		{"the loser's is later", time.Minute, time.Hour, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, s := t.Context(), still{memkv.New(memkv.Options{})}
				a, b := newBooks(closing(t, open(t, s))), newBooks(closing(t, open(t, s)))
				must(t, a.Create(ctx, &book{ID: "x", Author: "ann"}))
				must(t, a.db.Flush(ctx))
				errStop := errors.New("decided otherwise")
				first := true
				_, err := a.Update(ctx, "x", func(v *book) error {
					if !first {
						return errStop
					}
					first = false
					v.Gone = time.Now().Add(c.lost)
					_, err := b.Update(ctx, "x", func(v *book) error { v.Gone = time.Now().Add(c.won); return nil })
					return err
				})
				if !errors.Is(err, errStop) {
					t.Fatal(err)
				}
				must(t, errors.Join(a.db.Flush(ctx), b.db.Flush(ctx)))
				time.Sleep(2 * time.Minute)
				n, err := b.ByAuthor.Of("ann").Count(ctx)
				if err != nil || n != c.want {
					t.Errorf("want %d, got %d, %v", c.want, n, err)
				}
			})
		})
	}
}

// Its process stops between journal line and commit, and the end passes before a repair.
func TestList_AChangeThatStopsBeforeItsCommitEndsNoEntry(t *testing.T) {
	for name, as := range map[string]func(kv.Store) kv.Store{
		"server": func(s kv.Store) kv.Store { return server{s} },
		"plain":  func(s kv.Store) kv.Store { return plain{s} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, m := t.Context(), new(mute)
				var armed atomic.Bool
				s := as(memkv.New(memkv.Options{}))
				m.Store = kv.Trace(s, func(context.Context, kv.Trip) { m.cut.Store(armed.Load()) })
				a := newBooks(closing(t, open(t, m)))
				must(t, a.Create(ctx, &book{ID: "x", Author: "ann", N: 1}))
				must(t, a.db.Flush(ctx))
				_, err := a.Update(ctx, "x", func(v *book) error {
					armed.Store(true)
					v.N, v.Author, v.Tags, v.Gone = 2, "ann", []string{"go"}, time.Now().Add(time.Minute)
					return nil
				})
				if err == nil {
					t.Fatal("the change was to fail")
				}
				time.Sleep(2 * time.Minute)
				b := newBooks(closing(t, open(t, shared{s})))
				wantIDs(t, ctx, b.ByAuthor.Of("ann"), "x")
				armed.Store(false)
				m.cut.Store(false)
			})
		})
	}
}

// After the change, the list cannot be written to.
func TestList_AProcessSeesTheEndsThatItHasChangedAtOnce(t *testing.T) {
	for _, c := range []struct {
		was, is time.Duration
		want    []string // ten minutes later
	}{
		{5 * time.Minute, time.Hour, []string{"x"}},
		{time.Hour, 5 * time.Minute, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, full := t.Context(), &refusing{Store: server{memkv.New(memkv.Options{})}, which: entry}
			b := newBooks(closing(t, open(t, full)))
			must(t, b.Create(ctx, &book{ID: "x", Author: "ann", Gone: time.Now().Add(c.was)}))
			must(t, b.db.Flush(ctx))
			full.refuses.Store(true)
			must(t, b.Touch(ctx, "x", time.Now().Add(c.is)))
			time.Sleep(10 * time.Minute)
			wantIDs(t, ctx, b.ByAuthor.Of("ann"), c.want...)
			full.refuses.Store(false)
			time.Sleep(time.Minute)
			must(t, b.db.Flush(ctx))
			wantIDs(t, ctx, newBooks(closing(t, open(t, shared{full}))).ByAuthor.Of("ann"), c.want...)
		})
	}
}

func TestList_Numbered_IsAPageByItsNumber(t *testing.T) {
	for name, s := range map[string]kv.Store{"atomic": memkv.New(memkv.Options{}), "plain": still{memkv.New(memkv.Options{})}} {
		t.Run(name, func(t *testing.T) {
			f := openForum(s).ends(t)
			f.fill(t, "a", 23)
			seen := map[string]bool{}
			for number := 1; number <= 4; number++ {
				page, err := f.ByTopic.Of("a").Numbered(ctx, number, 10)
				if err != nil || page.Page != number || page.Pages != 3 || page.Total != 23 || len(page.Items) != max(0, min(10, 33-10*number)) {
					t.Errorf("page %d: %+v, %v", number, page, err)
				}
				for _, p := range page.Items {
					if seen[p.ID] {
						t.Errorf("%s comes twice", p.ID)
					}
					seen[p.ID] = true
				}
			}
			proof.Equal(t, len(seen), 23, "the pages")
			proof.Ends(t, kvmodel.ErrInvalid)(f.ByTopic.Of("a").Numbered(ctx, 0, 10))
		})
	}
}

func TestList_Picture_ShowsTheKeysThatAreStored(t *testing.T) {
	s := memkv.New(memkv.Options{})
	b := openSweep(s)
	closing(t, b.db)
	for i := range 5 {
		must(t, b.Create(t.Context(), &book{ID: fmt.Sprint("b", i), Author: "ann"}))
	}
	must(t, b.Delete(t.Context(), "b3"))
	must(t, b.db.Flush(t.Context()))
	p, err := b.ByAuthor.Of("ann").Picture(t.Context(), 10)
	if err != nil || len(p.Segments) != 1 || p.Segments[0].Live != 4 || p.Words != "" {
		t.Fatalf("want a segment of four, got %+v, %v", p, err)
	}
	got, err := kv.One(t.Context(), s, kv.OpGet(p.Segments[0].Key))
	if err != nil || len(got.Value) != p.Segments[0].Bytes {
		t.Errorf("%s has %d bytes, %v, and the picture says %d", p.Segments[0].Key, len(got.Value), err, p.Segments[0].Bytes)
	}
	if p, err = b.ByAuthor.Of("nobody").Picture(t.Context(), 10); err != nil || len(p.Segments) > 0 && p.Segments[0].Live > 0 {
		t.Errorf("of nobody: want nothing, got %+v, %v", p, err)
	}
}

func TestLists_Fit_NamesAListThatComesNearItsLimit(t *testing.T) {
	index.SmallHeads(t)
	mem := memkv.New(memkv.Options{})
	b := openSweep(mem)
	closing(t, b.db)
	*b.ByAuthor.Limits() = tinyLimits
	some := []plug.Standing{{ID: "b0", Place: "bob"}, {ID: "b1", Place: "ann"}}
	fit := func() string {
		unfit, err := b.ByAuthor.Window().(plug.Fitter).Fit(t.Context(), mem, some)
		must(t, err)
		return strings.Join(unfit, "\n")
	}
	for i := range 200 {
		if i == 5 && fit() != "" {
			t.Errorf("a short list: %s", fit())
		}
		must(t, b.Create(t.Context(), &book{ID: fmt.Sprint("b", i), Author: "ann"}))
		must(t, b.db.Flush(t.Context()))
	}
	if got := fit(); !strings.HasPrefix(got, "a list of about ") || !strings.HasSuffix(got, "list=Group with a second field divides it") {
		t.Errorf("a long list: %q", got)
	}
}
