package pages

import (
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/ranking"
	"github.com/ringtree/ringtree/templates"
)

// rows returns pages as rows of a feed.
func rows(entries []ashiato.Entry, now time.Time) []templates.Row {
	var all []templates.Row
	for _, e := range entries {
		row := titled(e.Page, now)
		row.Meta = append([]templates.Link{linkTo(e.By)}, linksTo(e.Topics[:min(2, len(e.Topics))])...)
		all = append(all, row)
	}
	return all
}

// rowsWithTopics returns rows that name the topics but not the author.
func rowsWithTopics(entries []ashiato.Entry, now time.Time) []templates.Row {
	all := rows(entries, now)
	for i := range all {
		all[i].Meta = all[i].Meta[1:]
	}
	return all
}

// rowsWithTitles returns rows that name neither.
func rowsWithTitles(pages []*ashiato.Page, now time.Time) []templates.Row {
	var all []templates.Row
	for _, p := range pages {
		all = append(all, titled(p, now))
	}
	return all
}

func titled(p *ashiato.Page, now time.Time) templates.Row {
	row := templates.Row{When: templates.Ago(now, p.Published), Title: pageLink(p), New: p.Views == 0}
	if p.Views > 0 {
		row.Figure = templates.Counted(p.Views, "view", "views")
	}
	return row
}

// ranked returns pages as rows of a ranking, whose bars are relative to the score of the
// first. For a first of 0 there are no bars.
func ranked(placed []ashiato.Placed, first int64, o order) []templates.Ranked {
	var all []templates.Ranked
	for _, p := range placed {
		row := templates.Ranked{
			Rank:   int64(p.Rank),
			Title:  pageLink(p.Page),
			Meta:   []templates.Link{linkTo(p.By)},
			Figure: templates.Counted(p.Score, o.one, o.many),
			Moved:  p.Up, New: p.New, Known: p.Known,
		}
		if first > 0 {
			row.Share = float64(p.Score) / float64(first)
		}
		all = append(all, row)
	}
	return all
}

// rankedTopics returns topics as rows of their ranking.
func rankedTopics(places []ranking.Place[ashiato.Topic, int64]) []templates.Ranked {
	var all []templates.Ranked
	for _, t := range places {
		all = append(all, templates.Ranked{
			Rank:   int64(t.Rank),
			Title:  templates.Link{Text: t.Item.Name, Href: topicPath(t.Item.Name)},
			Meta:   []templates.Link{{Text: counted(t.Item.Followers, "follower", "followers")}},
			Figure: templates.Counted(t.Score, "page", "pages"),
		})
	}
	return all
}

// byAge returns the pager of a listing that is sorted by time.
func byAge(path, prev, next string) templates.Pager {
	return pagerOf(prev, next, "Newer", "Older", func(cursor string) string { return With(path, "at", cursor) })
}

// inOrder returns the pager of a listing in any other order.
func inOrder(path, prev, next string) templates.Pager {
	return pagerOf(prev, next, "Previous", "Next", func(cursor string) string { return With(path, "at", cursor) })
}

// pagerOf returns links to the addresses of two cursors. For an empty cursor there is
// none.
func pagerOf(prev, next, back, on string, address func(cursor string) string) templates.Pager {
	var p templates.Pager
	if prev != "" {
		p.Back = templates.Link{Text: back, Href: address(prev)}
	}
	if next != "" {
		p.On = templates.Link{Text: on, Href: address(next)}
	}
	return p
}

// withSpan returns the pager of a ranking that has all rows of a page.
func withSpan(p templates.Pager, rows []templates.Ranked, of int) templates.Pager {
	if n := len(rows); n > 0 {
		p.Words = templates.Span(rows[0].Rank, rows[n-1].Rank, int64(of))
	}
	return p
}
