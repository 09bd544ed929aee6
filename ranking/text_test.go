package ranking_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
	"github.com/ringtree/ringtree/kvmodel/memkv"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/ranking/collation"
)

var titles = []string{"The tea", "the tea", "Tea", "té", "tè", "zoo", "", "Åsa", "The tea house"}

func (a *articles) withTitles() *articles { return a.titledIn(collation.Of("")) }

func (a *articles) titledIn(order ranking.Collation) *articles {
	spec := ranking.Spec[article, string]{
		Name: "TitleAZ", Def: "ranking Title words", Of: ranking.Text[string](order), Low: true,
		Score: func(v *article) string { return v.Title },
	}
	a.Titles = ranking.NewBoard(a.Records, spec)
	spec.Name, spec.Def, spec.Low = "TitleZAByCategory", "ranking Title words by Category", false
	a.TitleBy = ranking.NewBoards(a.Records, spec, kvmodel.By[article, string]{
		Key: kvmodel.StringKey[string](), Value: func(v *article) string { return v.Category },
	})
	return a
}

func openTitles(t *testing.T, s kv.Store, order ranking.Collation) *articles {
	t.Helper()
	return openArticles(s, ranking.Windowed).titledIn(order)
}

// sortedBy returns the wanted ids with a title in the order of a locale; equal ones as in got.
func sortedBy(all map[string]*article, locale string, got []string, want func(*article) bool) []string {
	c := collate.New(language.Make(locale))
	at := map[string]int{}
	for i, id := range got {
		at[id] = i
	}
	var ids []string
	for id, v := range all {
		if v.Title != "" && want(v) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(c.CompareString(all[a].Title, all[b].Title), cmp.Compare(at[a], at[b]))
	})
	return ids
}

func checkTitles(t *testing.T, a *articles, all map[string]*article) { checkTitlesIn(t, a, all, "") }

func checkTitlesIn(t *testing.T, a *articles, all map[string]*article, locale string) {
	t.Helper()
	check := func(name string, l kvmodel.Lister[article], high bool, want func(*article) bool) []string {
		t.Helper()
		got := allOf(t, l, 7)
		if high {
			slices.Reverse(got)
		}
		proof.NoDiff(t, gocmp.Diff(sortedBy(all, locale, got, want), got), "%s", name)
		return got
	}
	every := func(*article) bool { return true }
	inOrder := check("from A to Z", a.Titles, false, every)
	check("ascending", a.Titles.Ascending(), false, every)
	for _, category := range []string{"tea", "coffee"} {
		check("by "+category, a.TitleBy.Of(category), true, func(v *article) bool { return v.Category == category })
	}
	for _, prefix := range []string{"T", "té", "THE TEA", "å", "zoo", "x", ""} {
		// Package collate has no prefixes. At level 1, a great letter is above all texts with one.
		first := collate.New(language.Make(locale), collate.IgnoreCase, collate.IgnoreDiacritics)
		is := func(v *article) bool {
			return first.CompareString(v.Title, prefix) >= 0 && first.CompareString(v.Title, prefix+"\U0010ffff") < 0
		}
		check("prefix "+prefix, a.Titles.Prefix(prefix), false, is)
		checkCount(t, "prefix "+prefix, a.Titles.Prefix(prefix), len(sortedBy(all, locale, nil, is)))
		from := func(v *article) bool { return first.CompareString(v.Title, prefix) >= 0 }
		check("from "+prefix, a.Titles.Between(prefix, ""), false, from)
		below := func(v *article) bool { return first.CompareString(v.Title, "tea") < 0 }
		check("between", a.Titles.Between("", "TEA"), false, below)
	}
	for i := 0; i < len(inOrder); i += 1 + len(inOrder)/5 {
		id := inOrder[i]
		if st, err := a.Titles.Standing(ctx, id); err != nil || st.Rank != i+1 || st.Len != len(inOrder) || st.Score != all[id].Title {
			t.Errorf("%s stands at %+v, %v; want %d of %d with %q", id, st, err, i+1, len(inOrder), all[id].Title)
		}
		around, err := a.Titles.Around(ctx, id, 2)
		if err != nil || !slices.ContainsFunc(around, func(p ranking.Place[article, string]) bool {
			return p.Item.ID == id && p.Rank == i+1 && p.Score == all[id].Title
		}) {
			t.Errorf("around %s: %+v, %v", id, around, err)
		}
		if page, err := a.Titles.Numbered(ctx, i/3+1, 3); err != nil || page.Total != len(inOrder) || page.Items[i%3].ID != id {
			t.Errorf("page %d: %+v, %v", i/3+1, page, err)
		}
		before := slices.IndexFunc(inOrder, func(other string) bool {
			return collate.New(language.Make(locale)).CompareString(all[other].Title, all[id].Title) == 0
		})
		if rank, err := a.Titles.RankOf(ctx, all[id].Title); rank != before+1 || err != nil {
			t.Errorf("the title of %s has rank %d, %v; want %d", id, rank, err, before+1)
		}
	}
}

func checkCount(t *testing.T, name string, span *ranking.Span[article], want int) {
	t.Helper()
	if n, err := span.Count(ctx); n != want || err != nil {
		t.Errorf("%s: %d, %v; want %d", name, n, err, want)
	}
}

func someTitle(rng *rand.Rand) string {
	words := []string{"the", "The", "Tea", "té", "tè", "zoo", "Åsa", "Ärla", "övre", "ch", "Война", "ひらがな", "ヒラ", "שלום", "😀", "of", "a", "1984", "\u0301"}
	var title []string
	for range rng.IntN(4) {
		title = append(title, words[rng.IntN(len(words))])
	}
	return strings.Join(title, " ")
}

func TestBoard_OfWords_StandsAsTheCollatorSays(t *testing.T) {
	for _, locale := range []string{"", "sv", "cs", "ja"} {
		t.Run(locale, func(t *testing.T) {
			eachKind(t, memkv.Options{}, func(t *testing.T, s kv.Store, _ *memkv.Store) {
				ranking.SmallLeaves(t)
				rng := seeded(t)
				a := openTitles(t, s, collation.Of(locale))
				all := map[string]*article{}
				for i := range proof.Size(60, 120) {
					id := fmt.Sprint("a", rng.IntN(60))
					v := &article{ID: id, Title: someTitle(rng), Category: []string{"tea", "coffee"}[rng.IntN(2)]}
					if all[id] != nil && rng.IntN(4) == 0 {
						must(t, a.Delete(ctx, id))
						delete(all, id)
						continue
					}
					must(t, a.Put(ctx, v))
					if all[id] = v; i%60 == 59 {
						must(t, a.db.Flush(ctx))
						checkTitlesIn(t, a, all, locale)
					}
				}
				must(t, a.db.Flush(ctx))
				checkTitlesIn(t, a, all, locale)
				report, err := a.Titles.Verify(ctx, slices.Sorted(maps.Keys(all))...)
				if err != nil || len(report.Missing)+len(report.Wrong)+report.Drift+report.Pending+report.Stale > 0 {
					t.Errorf("verify: %+v, %v", report, err)
				}
				must(t, a.db.Close(ctx))
			})
		})
	}
}

type reordered struct{ *collation.Collation }

func (r reordered) Name() string { return r.Collation.Name() + "next" }

func (r reordered) Word(text string) string { return r.Collation.Word(strings.ToLower(text)) }

func TestBoard_OfWords_OtherTablesNeedARebuild(t *testing.T) { synctest.Test(t, otherTables) }

func otherTables(t *testing.T) {
	s := still{memkv.New(memkv.Options{})}
	a := openTitles(t, s, collation.Of(""))
	for i, title := range titles {
		must(t, a.Create(ctx, &article{ID: fmt.Sprint("a", i), Title: title, Category: "tea"}))
	}
	must(t, a.db.Close(ctx))
	for name, order := range map[string]ranking.Collation{"other tables": reordered{collation.Of("")}, "another language": collation.Of("sv")} {
		next := openTitles(t, s, order)
		if l, err := next.Titles.Page(ctx, "", 10); !errors.Is(err, kvmodel.ErrNeedsRebuild) {
			t.Errorf("%s: %d records are shown, %v; want ErrNeedsRebuild", name, len(l.Items), err)
		}
		if _, err := next.Titles.Prefix("t").Count(ctx); !errors.Is(err, kvmodel.ErrNeedsRebuild) {
			t.Errorf("%s: %v, want ErrNeedsRebuild", name, err)
		}
		must(t, next.Records.Rebuild(ctx))
		l, err := next.Titles.Page(ctx, "", 10)
		if err != nil || len(l.Items) != len(titles)-1 {
			t.Errorf("%s: %d records are shown after a rebuild, %v", name, len(l.Items), err)
		}
		if report, err := next.Titles.Verify(ctx); err != nil || report.Stale+report.Pending+len(report.Wrong) > 0 {
			t.Errorf("%s: after a rebuild: %+v, %v", name, report, err)
		}
		must(t, next.db.Close(ctx))
	}
}

func TestBoard_OfWords_RefusesCursorsOfOthers(t *testing.T) {
	a := openTitles(t, memkv.New(memkv.Options{}), collation.Of(""))
	for i := range 30 {
		must(t, a.Create(ctx, &article{ID: fmt.Sprint(i), Title: fmt.Sprint("title ", i), Stock: int64(i), Category: "tea"}))
	}
	l, err := a.Titles.Page(ctx, "", 5)
	must(t, err)
	proof.Ends(t, kvmodel.ErrBadCursor)(a.TopStock.Page(ctx, l.Next, 5))
	// A cursor outside of a span is its beginning.
	for _, span := range []*ranking.Span[article]{a.Titles.Prefix("title 2"), a.Titles.Between("a", "b")} {
		page, err := span.Page(ctx, l.Next, 50)
		must(t, err)
		for _, v := range page.Items {
			if !strings.HasPrefix(v.Title, "title 2") {
				t.Errorf("%q is shown in a part without it", v.Title)
			}
		}
	}
}

// There are a hundred nodes above each leaf, and while counts are exact, all get reports.
func TestBoard_OfWords_InsertsBehindALongBeginningAreReportedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ops atomic.Int64
		a := openTitles(t, kv.Trace(plain{memkv.New(memkv.Options{})}, func(_ context.Context, trip kv.Trip) {
			for _, op := range trip.Ops {
				if strings.HasPrefix(op.Key, "rank:Article:TitleAZ.") {
					ops.Add(1)
				}
			}
		}), collation.Of(""))
		made := 0
		inserts := func(n int, every time.Duration) (each int) {
			ops.Store(0)
			for range n {
				made++
				must(t, a.Create(ctx, &article{ID: fmt.Sprint(made), Title: fmt.Sprintf("Proceedings of the Conference on %d", made*7919%1000)}))
				time.Sleep(every)
			}
			return int(ops.Load()) / n
		}
		inserts(200, 0)
		must(t, a.db.Flush(ctx))
		for _, c := range []struct {
			every       time.Duration
			least, most int
		}{
			{time.Second, 180, 220},
			{10 * time.Millisecond, 55, 80},
			{time.Millisecond, 8, 16},
		} {
			got := inserts(100, c.every)
			t.Logf("one insert each %v: %d ops for each", c.every, got)
			if got < c.least || got > c.most {
				t.Errorf("one insert each %v: %d ops for each, want %d to %d", c.every, got, c.least, c.most)
			}
			time.Sleep(50 * time.Millisecond)
			if n, err := a.Titles.Len(ctx); err != nil || n != made {
				t.Errorf("Len %d, %v a moment later, want %d", n, err, made)
			}
		}
		must(t, a.db.Close(ctx))
	})
}
