package web

import (
	"cmp"
	"slices"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/templates"
)

// ranking shows this week by default, and the neighbors of a page that the query names.
func (s *Site) ranking(v *visit) error {
	span, page := ashiato.ThisWeek, v.FormValue("page")
	if page != "" {
		span = ashiato.AllTime
	}
	ranks, err := s.app.Ranking(v.Context(), cmp.Or(ashiato.Order(v.FormValue("span")), span), v.FormValue("at"), page)
	return v.show(frame{Title: "Ranking", Here: "/ranking"}, rankingPage(ranks, page), err)
}

type order struct {
	order     ashiato.Order
	tab       string
	by        string // the basis of the ranking
	one, many string // the unit of its scores
}

var orders = []order{
	{ashiato.Today, "Today", "by views today", "view", "views"},
	{ashiato.ThisWeek, "Week", "by views since Monday", "view", "views"},
	{ashiato.LastWeek, "Last week", "by views in the week before this one", "view", "views"},
	{ashiato.AllTime, "All time", "by all their views", "view", "views"},
	{ashiato.MostLiked, "Liked", "by likes", "like", "likes"},
}

// The domain has refused unknown orders.
func orderOf(o ashiato.Order) order {
	return orders[slices.IndexFunc(orders, func(known order) bool { return known.order == o })]
}

func around(ranks *ashiato.Ranks, page string) templates.Around {
	o := orderOf(ranks.Order)
	a := templates.Around{Of: int64(ranks.Of), Rows: ranked(ranks.Near, 0, o)}
	for i, p := range ranks.Near {
		if p.ID != page {
			continue
		}
		a.Rows[i].Yours, a.Rank = true, int64(p.Rank)
		if i > 0 {
			above := ranks.Near[i-1]
			a.Next = counted(above.Score-p.Score+1, "more "+o.one, "more "+o.many) + " to pass #" + templates.Grouped(int64(above.Rank)) + "."
		}
	}
	return a
}

func tabs(now ashiato.Order, page string) templates.Tabs {
	t := templates.Tabs{Label: "Order"}
	for i, o := range orders {
		t.Tabs = append(t.Tabs, templates.Link{Text: o.tab, Href: rankPath(o.order, "", page)})
		if o.order == now {
			t.Now = i
		}
	}
	return t
}
