package web

import (
	"cmp"
	"slices"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/templates"
)

// ranking shows part of a ranking: of this week, unless the query names another one.
// Beside it, it shows the neighbors of the page that the query names, in the ranking of all
// time, or of the one that the member saved last.
func (s *Site) ranking(v *visit) error {
	order, named, yours := ashiato.ThisWeek, v.FormValue("page"), ""
	if named == "" {
		yours = v.remembered()
	} else {
		order = ashiato.AllTime
	}
	order = cmp.Or(ashiato.Order(v.FormValue("span")), order)
	ranks, err := s.app.Ranking(v.Context(), order, v.FormValue("at"), cmp.Or(named, yours))
	if err != nil {
		return err
	}
	return v.show(frame{Title: "Ranking", Here: "/ranking"}, rankingPage(ranks, named, yours))
}

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

// orderOf returns the words of an order. The domain has refused any that is not one.
func orderOf(o ashiato.Order) order {
	return orders[slices.IndexFunc(orders, func(known order) bool { return known.order == o })]
}

// aroundOf returns the rank of the page with the id, and its neighbors.
func aroundOf(ranks *ashiato.Ranks, id string, o order) templates.Around {
	a := templates.Around{Of: int64(ranks.Of), Rows: ranked(ranks.Near, 0, o)}
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
	return a
}

// topShare returns the share of a ranking down to a rank: "top 12%".
func topShare(rank, of int64) string {
	if of == 0 {
		return ""
	}
	return "top " + templates.Grouped(max(1, (100*rank+of-1)/of)) + "%"
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

func rankPager(r *ashiato.Ranks, page string) templates.Pager {
	return pagerOf(r.Prev, r.Next, "Higher", "Lower", func(cursor string) string { return rankPath(r.Order, cursor, page) })
}

// noRanks returns what takes the place of rows.
func noRanks(r *ashiato.Ranks, o order) templates.Empty {
	if r.Of > 0 {
		return templates.Empty{Words: "No page has this rank.", Way: templates.Link{Text: "Go to the top", Href: rankPath(r.Order, "", "")}}
	}
	return unlessRebuilding(r.Rebuilding, templates.Empty{Words: "No " + o.many + " yet.", Way: templates.Link{Text: "Newest pages", Href: "/newest"}})
}
