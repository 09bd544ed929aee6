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

// periods are the rankings there are, as the tabs name them.
var periods = []struct {
	period ashiato.Period
	words  string
	views  string // what is counted
}{
	{ashiato.Today, "Today", "by views today"},
	{ashiato.ThisWeek, "This week", "by views of the last seven days"},
	{ashiato.AllTime, "All time", "by all views"},
}

// ranking shows a part of a ranking, and where a page stands: the one that was
// asked for, or the one that the member saved last.
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
	var place []standing
	err := s.app.DB().SideBySide(v.Context(),
		func(ctx context.Context) (err error) { ranks, err = s.app.Ranking(ctx, period, cursor); return err },
		func(ctx context.Context) (err error) { first, err = s.firstOf(ctx, period, cursor); return err },
		func(ctx context.Context) (err error) { place, err = s.placeFor(ctx, v, period); return err })
	if err != nil {
		return answer{}, err
	}
	if first == 0 {
		first = scoreOfFirst(ranks)
	}
	page := pages.Ranking{
		Words: rankingWords(ranks),
		Tabs:  tabs(ranks.Period, v.FormValue("page")),
		Rows:  ranked(ranks.Rows, first),
		Pager: rankPager(ranks, v.FormValue("page")),
		Empty: templates.Empty{Words: "Nobody stands here.", Way: templates.Link{Text: "The first place", Href: rankPath(period, "", "")}},
		Hint:  hint(period),
	}
	if ranks.Of == 0 {
		page.Empty = templates.Empty{Words: "Nobody has looked at a page yet.", Way: templates.Link{Text: "The newest pages", Href: "/newest"}}
	}
	if len(place) > 0 {
		page.Around, page.Top = aroundOf(place, pageFor(v), int64(ranks.Of))
	}
	return answer{title: "Ranking", here: "/ranking", body: page.Body()}, nil
}

// firstOf returns the score of the first place, which the bars are shares of, if
// it is not among what is shown.
func (s *Site) firstOf(ctx context.Context, p ashiato.Period, cursor string) (int64, error) {
	if cursor == "" {
		return 0, nil
	}
	ranks, err := s.app.Ranking(ctx, p, "")
	if err != nil {
		return 0, err
	}
	return scoreOfFirst(ranks), nil
}

func scoreOfFirst(ranks *ashiato.Ranks) int64 { return firstScore(ranks.Rows) }

type standing = ranking.Place[ashiato.Page, int64]

// pageFor returns the id of the page whose neighbours are to be shown: the one
// that was asked for, or the one that the member saved last.
func pageFor(v *visit) string {
	if id := v.FormValue("page"); id != "" {
		return id
	}
	return v.remembered()
}

// placeFor returns that page with up to two before and behind it in the ranking
// of all time, which is the one that it is shown beside.
func (s *Site) placeFor(ctx context.Context, v *visit, p ashiato.Period) ([]standing, error) {
	id := pageFor(v)
	if id == "" || p != ashiato.AllTime {
		return nil, nil
	}
	around, err := s.app.Models.Pages.TopViews.Around(ctx, id, 2)
	if errors.Is(err, kvmodel.ErrNotFound) {
		return nil, nil
	}
	return around, err
}

func hint(p ashiato.Period) string {
	if p == ashiato.AllTime {
		return "Write a page, and see here where it stands once somebody has looked at it."
	}
	return "Your page and its neighbours stand beside the ranking of all time."
}

// aroundOf returns where the page with id stands among of, and how near the top
// that is.
func aroundOf(places []standing, id string, of int64) (*templates.Around, string) {
	a := &templates.Around{Of: of}
	for i, p := range places {
		row := templates.Ranked{
			Rank:   int64(p.Rank),
			Title:  templates.Link{Text: p.Item.Title, Href: pagePath(p.Item.Slug)},
			Figure: templates.Counted(p.Score, "view", "views"),
		}
		if p.Item.ID == id {
			row.Yours, a.Rank = true, row.Rank
			if i > 0 {
				a.Next = rise(places[i-1], p)
			}
		}
		a.Rows = append(a.Rows, row)
	}
	return a, topShare(a.Rank, of)
}

func rise(above, p standing) string {
	return counted(above.Score-p.Score+1, "more view", "more views") + " to pass #" + templates.Grouped(int64(above.Rank)) + "."
}

// topShare is the share of a ranking that is no lower than a rank.
func topShare(rank, of int64) string {
	if of == 0 {
		return ""
	}
	return "top " + templates.Grouped(max(1, (100*rank+of-1)/of)) + " %"
}

func rankingWords(ranks *ashiato.Ranks) string {
	for _, p := range periods {
		if p.period == ranks.Period {
			return counted(int64(ranks.Of), "page", "pages") + " " + p.views + ". The rule under each page is its share of the first."
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

// rankPath is the address of a part of a ranking, around which page is shown.
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
	var p templates.Pager
	if ranks.Prev != "" {
		p.Back = templates.Link{Text: "Higher", Href: rankPath(ranks.Period, ranks.Prev, page)}
	}
	if ranks.Next != "" {
		p.On = templates.Link{Text: "Lower", Href: rankPath(ranks.Period, ranks.Next, page)}
	}
	if n := len(ranks.Rows); n > 0 {
		p.Words = templates.Span(int64(ranks.Rows[0].Rank), int64(ranks.Rows[n-1].Rank), int64(ranks.Of))
	}
	return p
}
