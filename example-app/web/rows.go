package web

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
		row := templates.Row{When: templates.Ago(now, e.Published), Title: pageLink(e.Page), New: e.Views == 0}
		if e.Views > 0 {
			row.Figure = templates.Counted(e.Views, "view", "views")
		}
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
	return pagerOf(prev, next, "Newer", "Older", func(cursor string) string { return with(path, "at", cursor) })
}

// inOrder returns the pager of a listing in any other order.
func inOrder(path, prev, next string) templates.Pager {
	return pagerOf(prev, next, "Previous", "Next", func(cursor string) string { return with(path, "at", cursor) })
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

func pageLink(p *ashiato.Page) templates.Link {
	return templates.Link{Text: p.Title, Href: pagePath(p.Slug)}
}

// linkTo returns a link to a member. One who has left has no address.
func linkTo(m *ashiato.Member) templates.Link {
	if m == nil {
		return templates.Link{Text: "former member"}
	}
	return templates.Link{Text: m.Handle, Href: memberPath(m.Handle)}
}

func linksTo(topics []string) []templates.Link {
	return templates.LinksTo("", topicPath(""), topics...)
}

// fact returns a number with what it counts, as a link if href is not empty.
func fact(n int64, one, many, href string) templates.Fact {
	f := templates.Counted(n, one, many)
	return templates.Fact{Figure: templates.Link{Text: f.Value, Href: href}, After: f.Unit}
}

// counted returns a number with what it counts: "1 page".
func counted(n int64, one, many string) string {
	return templates.Counted(n, one, many).Words()
}

// on returns a day as it reads in a sentence.
func on(t time.Time) string { return t.UTC().Format("January 2, 2006") }

// moment returns a time as it reads in a sentence.
func moment(t time.Time) string { return t.UTC().Format("January 2, 2006, 15:04 UTC") }

// lasting returns a duration in words.
func lasting(d time.Duration) string {
	switch {
	case d < time.Minute:
		return counted(max(1, int64(d.Seconds()+.5)), "second", "seconds")
	case d < time.Hour:
		return counted(int64(d.Minutes()+.5), "minute", "minutes")
	}
	return counted(int64(d.Hours()+.5), "hour", "hours")
}

// unlessRebuilding returns what a list says that is empty, or has to be rebuilt first.
func unlessRebuilding(rebuilding bool, empty templates.Empty) templates.Empty {
	if rebuilding {
		return templates.Empty{Words: "This list is being rebuilt. Try again in a few minutes."}
	}
	return empty
}
