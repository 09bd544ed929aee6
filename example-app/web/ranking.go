package web

import (
	"net/url"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// order is a ranking and its words.
type order struct {
	order     ashiato.Order
	tab       string
	by        string // what it goes by
	one, many string // what it counts
}

var orders = []order{
	{ashiato.Today, "Today", "by views today", "view", "views"},
	{ashiato.ThisWeek, "Week", "by views since Monday", "view", "views"},
	{ashiato.AllTime, "All time", "by all their views", "view", "views"},
	{ashiato.MostLiked, "Liked", "by likes", "like", "likes"},
}

// ranking shows part of a ranking. Beside it, it shows the neighbors of the page that the
// query names, or of the one that the member saved last.
func (s *Site) ranking(v *visit) (answer, error) {
	named := v.FormValue("page")
	o := orderOf(v.FormValue("span"), named)
	beside, yours := "Nearby ranks", named
	if named == "" {
		beside, yours = "Around you", v.remembered()
	}
	ranks, err := s.app.Ranking(v.Context(), o.order, v.FormValue("at"), yours)
	if err != nil {
		return answer{}, err
	}
	page := pages.Ranking{
		Words:  counted(int64(ranks.Of), "page", "pages") + " " + o.by + ". Each bar compares a page with the first one.",
		Tabs:   tabs(o, named),
		Rows:   ranked(ranks.Rows, ranks.First, o),
		Pager:  rankPager(ranks, named),
		Empty:  templates.Empty{Words: "No page has this rank.", Way: templates.Link{Text: "Go to the top", Href: rankPath(o.order, "", "")}},
		Beside: beside,
		Hint:   "Write a page to see its rank here, once someone has found it.",
	}
	if yours != "" {
		page.Hint = "Your page is not in this ranking yet."
	}
	if ranks.Of == 0 {
		page.Empty = unlessRebuilding(ranks.Rebuilding, templates.Empty{Words: "No " + o.many + " yet.", Way: templates.Link{Text: "Newest pages", Href: "/newest"}})
	}
	if len(ranks.Near) > 0 {
		page.Around, page.Top = aroundOf(ranks, yours, o)
	}
	return answer{title: "Ranking", here: "/ranking", body: page.Body()}, nil
}

// orderOf returns the order of that name. Without a name it is the week, or all time if a
// page is named. An unknown one has no words; the domain refuses it.
func orderOf(name, page string) order {
	if name == "" && page == "" {
		name = string(ashiato.ThisWeek)
	} else if name == "" {
		name = string(ashiato.AllTime)
	}
	for _, o := range orders {
		if string(o.order) == name {
			return o
		}
	}
	return order{order: ashiato.Order(name)}
}

// aroundOf returns the rank of the page with the id, its neighbors, and how near the top
// that is.
func aroundOf(ranks *ashiato.Ranks, id string, o order) (*templates.Around, string) {
	a := &templates.Around{Of: int64(ranks.Of), Rows: ranked(ranks.Near, 0, o)}
	for i, p := range ranks.Near {
		a.Rows[i].Meta = nil
		if p.ID != id {
			continue
		}
		a.Rows[i].Yours, a.Rank = true, int64(p.Rank)
		if i > 0 {
			above := ranks.Near[i-1]
			a.Next = counted(above.Score-p.Score+1, "more "+o.one, "more "+o.many) + " to pass #" + templates.Grouped(int64(above.Rank)) + "."
		}
	}
	return a, topShare(a.Rank, a.Of)
}

// topShare returns the share of a ranking down to a rank: "top 12%".
func topShare(rank, of int64) string {
	if of == 0 {
		return ""
	}
	return "top " + templates.Grouped(max(1, (100*rank+of-1)/of)) + "%"
}

func tabs(now order, page string) templates.Tabs {
	t := templates.Tabs{Label: "Order"}
	for i, o := range orders {
		t.Tabs = append(t.Tabs, templates.Link{Text: o.tab, Href: rankPath(o.order, "", page)})
		if o.order == now.order {
			t.Now = i
		}
	}
	return t
}

// rankPath returns the address of part of a ranking, which also shows the neighbors
// of page.
func rankPath(o ashiato.Order, cursor, page string) string {
	query := url.Values{"span": {string(o)}}
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
		return rankPath(ranks.Order, cursor, page)
	})
	if n := len(ranks.Rows); n > 0 {
		p.Words = templates.Span(int64(ranks.Rows[0].Rank), int64(ranks.Rows[n-1].Rank), int64(ranks.Of))
	}
	return p
}
