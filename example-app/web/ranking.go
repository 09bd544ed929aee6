package web

import (
	"context"
	"net/url"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
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
	var place *ashiato.Place
	err := ashiato.SideBySide(v.Context(),
		func(ctx context.Context) (err error) { ranks, err = s.app.Ranking(ctx, period, cursor); return err },
		func(ctx context.Context) (err error) { first, err = s.firstOf(ctx, period, cursor); return err },
		func(ctx context.Context) (err error) { place, err = s.placeFor(ctx, v); return err })
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
		Hint:  "Write a page, and see here where it stands.",
	}
	if ranks.Of == 0 {
		page.Empty = templates.Empty{Words: "Nobody has looked at a page yet.", Way: templates.Link{Text: "The newest pages", Href: "/newest"}}
	}
	if place != nil {
		neighbours, top := aroundOf(place, "this page")
		page.Around, page.Top = &neighbours, top
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

func (s *Site) placeFor(ctx context.Context, v *visit) (*ashiato.Place, error) {
	slug := v.FormValue("page")
	if slug == "" {
		slug = v.remembered()
	}
	if slug == "" {
		return nil, nil
	}
	return s.placeOf(ctx, slug)
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
