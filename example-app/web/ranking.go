package web

import (
	"context"
	"errors"
	"net/url"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/templates"
)

// periods lists the rankings, with the words for their tabs.
var periods = []struct {
	period ashiato.Period
	words  string
	views  string // what it sorts by
}{
	{ashiato.Today, "Today", "by views today"},
	{ashiato.ThisWeek, "This week", "by views in the last seven days"},
	{ashiato.AllTime, "All time", "by total views"},
}

// ranking shows part of a ranking. Beside it, it shows the rank of the page that the
// query names, or of the one that the member saved last.
func (s *Site) ranking(v *visit) (answer, error) {
	period := ashiato.Period(v.FormValue("span"))
	if period == "" {
		period = ashiato.ThisWeek
		if v.FormValue("page") != "" {
			period = ashiato.AllTime
		}
	}
	cursor := v.FormValue("at")
	var ranks *ashiato.Ranks
	var first int64
	var near []standing
	err := s.app.DB().SideBySide(v.Context(),
		func(ctx context.Context) (err error) { ranks, err = s.app.Ranking(ctx, period, cursor); return err },
		func(ctx context.Context) (err error) { first, err = s.firstOf(ctx, period, cursor); return err },
		func(ctx context.Context) (err error) { near, err = s.neighbors(ctx, v, period); return err })
	if err != nil {
		return answer{}, err
	}
	if first == 0 {
		first = firstScore(ranks.Rows)
	}
	page := pages.Ranking{
		Words: rankingWords(ranks),
		Tabs:  tabs(ranks.Period, v.FormValue("page")),
		Rows:  ranked(ranks.Rows, first),
		Pager: rankPager(ranks, v.FormValue("page")),
		Empty: templates.Empty{Words: "No page has this rank.", Way: templates.Link{Text: "Go to the top", Href: rankPath(period, "", "")}},
		Hint:  hint(period),
	}
	if ranks.Of == 0 {
		page.Empty = unlessRebuilding(ranks.Rebuilding, templates.Empty{Words: "No views yet.", Way: templates.Link{Text: "Newest pages", Href: "/newest"}})
	}
	if len(near) > 0 {
		page.Around, page.Top = aroundOf(near, pageFor(v), int64(ranks.Of))
	}
	return answer{title: "Ranking", here: "/ranking", body: page.Body()}, nil
}

// firstOf returns the highest score, to which all bars are relative. It returns 0
// without a cursor, because the ranking then shows the first page itself.
func (s *Site) firstOf(ctx context.Context, p ashiato.Period, cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	ranks, err := s.app.Ranking(ctx, p, "")
	if err != nil {
		return 0, err
	}
	return firstScore(ranks.Rows), nil
}

type standing = ranking.Place[ashiato.Page, int64]

// pageFor returns the id of the page whose neighbors to show: the one that the query
// names, or the one that the member saved last.
func pageFor(v *visit) string {
	if id := v.FormValue("page"); id != "" {
		return id
	}
	return v.remembered()
}

// neighbors returns that page with up to two on either side of it. It returns nothing
// except for the ranking of all time.
func (s *Site) neighbors(ctx context.Context, v *visit, p ashiato.Period) ([]standing, error) {
	id := pageFor(v)
	if id == "" || p != ashiato.AllTime {
		return nil, nil
	}
	around, err := s.app.Models.Pages.TopViews.Around(ctx, id, 2)
	if errors.Is(err, kvmodel.ErrNotFound) || errors.Is(err, kvmodel.ErrNeedsRebuild) {
		return nil, nil
	}
	return around, err
}

func hint(p ashiato.Period) string {
	if p == ashiato.AllTime {
		return "Write a page to see its rank here after its first view."
	}
	return "Open “All time” to see the rank of your page."
}

// aroundOf returns the rank of the page with the id among of pages, and how near the
// top that is.
func aroundOf(near []standing, id string, of int64) (*templates.Around, string) {
	a := &templates.Around{Of: of}
	for i, p := range near {
		row := templates.Ranked{
			Rank:   int64(p.Rank),
			Title:  templates.Link{Text: p.Item.Title, Href: pagePath(p.Item.Slug)},
			Figure: templates.Counted(p.Score, "view", "views"),
		}
		if p.Item.ID == id {
			row.Yours, a.Rank = true, row.Rank
			if i > 0 {
				a.Next = rise(near[i-1], p)
			}
		}
		a.Rows = append(a.Rows, row)
	}
	return a, topShare(a.Rank, of)
}

func rise(above, p standing) string {
	return counted(above.Score-p.Score+1, "more view", "more views") + " to pass #" + templates.Grouped(int64(above.Rank)) + "."
}

// topShare returns the share of a ranking down to a rank: "top 12%".
func topShare(rank, of int64) string {
	if of == 0 {
		return ""
	}
	return "top " + templates.Grouped(max(1, (100*rank+of-1)/of)) + "%"
}

func rankingWords(ranks *ashiato.Ranks) string {
	for _, p := range periods {
		if p.period == ranks.Period {
			return counted(int64(ranks.Of), "page", "pages") + " " + p.views + ". Each bar compares a page with the first one."
		}
	}
	return ""
}

func tabs(now ashiato.Period, page string) templates.Tabs {
	t := templates.Tabs{Label: "Period"}
	for i, p := range periods {
		t.Tabs = append(t.Tabs, templates.Link{Text: p.words, Href: rankPath(p.period, "", page)})
		if p.period == now {
			t.Now = i
		}
	}
	return t
}

// rankPath returns the address of part of a ranking, which also shows the neighbors
// of page.
func rankPath(p ashiato.Period, cursor, page string) string {
	query := url.Values{"span": {string(p)}}
	if cursor != "" {
		query.Set("at", cursor)
	}
	if page != "" {
		query.Set("page", page)
	}
	return "/ranking?" + query.Encode()
}

func rankPager(ranks *ashiato.Ranks, page string) templates.Pager {
	p := pagerOf(ranks.Prev, ranks.Next, "Higher", "Lower", func(cursor string) string {
		return rankPath(ranks.Period, cursor, page)
	})
	if n := len(ranks.Rows); n > 0 {
		p.Words = templates.Span(int64(ranks.Rows[0].Rank), int64(ranks.Rows[n-1].Rank), int64(ranks.Of))
	}
	return p
}
