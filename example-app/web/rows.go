package web

import (
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/templates"
)

func rows(entries []ashiato.Entry, now time.Time) []templates.Row {
	var all []templates.Row
	for _, e := range entries {
		row := templates.Row{When: templates.Ago(now, e.Published), Title: pageLink(e.Page), New: e.Views == 0}
		if e.Views > 0 {
			row.Figure = templates.Counted(e.Views, "view", "views")
		}
		if e.By != nil {
			row.Meta = append(row.Meta, linkTo(e.By))
		}
		row.Meta = append(row.Meta, linksTo(e.Topics[:min(2, len(e.Topics))])...)
		all = append(all, row)
	}
	return all
}

// Bars are relative to first; 0 is none.
func ranked(placed []ashiato.Placed, first int64, o order) []templates.Ranked {
	var all []templates.Ranked
	for _, p := range placed {
		row := templates.Ranked{Rank: int64(p.Rank), Title: pageLink(p.Page), Figure: templates.Counted(p.Score, o.one, o.many)}
		if p.By != nil {
			row.Meta = []templates.Link{linkTo(p.By)}
		}
		if first > 0 {
			row.Share = float64(p.Score) / float64(first)
		}
		all = append(all, row)
	}
	return all
}

func withSpan(p templates.Pager, rows []templates.Ranked, of int) templates.Pager {
	if n := len(rows); n > 0 {
		p.Words = templates.Span(rows[0].Rank, rows[n-1].Rank, int64(of))
	}
	return p
}

func fact(n int64, one, many, href string) templates.Fact {
	f := templates.Counted(n, one, many)
	return templates.Fact{Figure: templates.Link{Text: f.Value, Href: href}, After: f.Unit}
}

func counted(n int64, one, many string) string {
	return templates.Counted(n, one, many).Words()
}

func on(t time.Time) string { return t.UTC().Format("January 2, 2006") }

func moment(t time.Time) string { return t.UTC().Format("January 2, 2006, 15:04 UTC") }

func unlessRebuilding(rebuilding bool, empty templates.Empty) templates.Empty {
	if rebuilding {
		return templates.Empty{Words: "This list is being rebuilt. Try again in a few minutes."}
	}
	return empty
}
