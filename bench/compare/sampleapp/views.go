package sampleapp

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// Here the templates get their values as in package web of the sample app.

// WriteHome writes the home page.
func WriteHome(ctx context.Context, w io.Writer, s Site) error {
	home, err := s.Home(ctx)
	if err != nil {
		return err
	}
	page := pages.Home{
		Words: counted(home.Pages, "page", "pages") + " by " + counted(home.Members, "person", "people") + ", kept in nothing but a key-value store.", Live: "/live",
		Newest: rows(home.Newest[:min(newest, len(home.Newest))]), Popular: ranked(home.Week),
	}
	if len(home.Newest) > newest {
		page.Older = "/newest"
	}
	return write(ctx, w, pages.Frame{Here: "/", Hood: "/hood", Script: "/live.js"}, page.Body())
}

// WriteRanking writes the ranking of all time.
func WriteRanking(ctx context.Context, w io.Writer, s Site) error {
	ranks, err := s.Ranking(ctx)
	if err != nil {
		return err
	}
	page := pages.Ranking{
		Words: counted(ranks.Of, "page", "pages") + " by all their views. Each bar compares a page with the first one.",
		Tabs: templates.Tabs{Label: "Order", Now: 2, Tabs: []templates.Link{
			{Text: "Today", Href: "/ranking?span=today"}, {Text: "Week", Href: "/ranking?span=week"}, {Text: "All time", Href: "/ranking?span=all"},
			{Text: "Liked", Href: "/ranking?span=liked"},
		}},
		Rows:   ranked(ranks.Top),
		Pager:  templates.Pager{Words: templates.Span(1, int64(len(ranks.Top)), ranks.Of)},
		Beside: "Around you",
		Hint:   "Write a page to see its rank here, once someone has found it.",
	}
	if ranks.Next != "" {
		page.Pager.On = templates.Link{Text: "Lower", Href: "/ranking?" + url.Values{"span": {"all"}, "at": {ranks.Next}}.Encode()}
	}
	return write(ctx, w, pages.Frame{Title: "Ranking", Here: "/ranking", Hood: "/hood"}, page.Body())
}

// WriteArticle writes the page with that slug.
func WriteArticle(ctx context.Context, w io.Writer, s Site, slug string) error {
	a, err := s.Article(ctx, slug)
	if err != nil {
		return err
	}
	page := pages.Page{
		Title: a.Title,
		Author: pages.Author{
			Link: memberLink(a.Author), About: a.About, Words: counted(a.Followers, "follower", "followers"),
			Follow: pages.Follow{Action: memberLink(a.Author).Href},
		},
		When:   a.Published.UTC().Format("January 2, 2006"),
		Facts:  a.facts(),
		Text:   a.Body,
		Topics: topicLinks(a.Topics),
		Like:   pages.Like{Action: articlePath(slug)},
		Comments: pages.Comments{
			Count: counted(a.Comments, "comment", "comments"),
			LogIn: "/login?next=" + url.QueryEscape(articlePath(slug)),
		},
		More: rows(a.More),
	}
	for i := range page.More {
		page.More[i].Meta = nil
	}
	for _, r := range a.Remarks {
		page.Comments.All = append(page.Comments.All, pages.Comment{Who: memberLink(r.Author), When: ago(r.At), Text: r.Text})
	}
	hood := "/hood?" + url.Values{"page": {slug}}.Encode()
	return write(ctx, w, pages.Frame{Title: a.Title, Hood: hood}, page.Body())
}

// write writes a page that has all its values, as a handler does that can still fail.
func write(ctx context.Context, w io.Writer, f pages.Frame, body templ.Component) error {
	var page bytes.Buffer
	if err := pages.Document(f, body).Render(ctx, &page); err != nil {
		return err
	}
	_, err := w.Write(page.Bytes())
	return err
}

func articlePath(slug string) string { return "/p/" + url.PathEscape(slug) }

func memberLink(handle string) templates.Link {
	return templates.Link{Text: handle, Href: "/m/" + url.PathEscape(handle)}
}

func topicLinks(topics []string) []templates.Link {
	var links []templates.Link
	for _, topic := range topics {
		links = append(links, templates.Link{Text: topic, Href: "/t/" + url.PathEscape(topic)})
	}
	return links
}

func rows(all []Listed) []templates.Row {
	var rows []templates.Row
	for _, l := range all {
		row := templates.Row{
			When:  ago(l.Published),
			Title: templates.Link{Text: l.Title, Href: articlePath(l.Slug)},
			Meta:  append([]templates.Link{memberLink(l.Author)}, topicLinks(l.Topics[:min(2, len(l.Topics))])...),
			New:   l.Views == 0,
		}
		if l.Views > 0 {
			row.Figure = templates.Counted(l.Views, "view", "views")
		}
		rows = append(rows, row)
	}
	return rows
}

// ranked returns the first rows of a ranking.
func ranked(all []Listed) []templates.Ranked {
	var rows []templates.Ranked
	for i, l := range all {
		rows = append(rows, templates.Ranked{
			Rank:   int64(i + 1),
			Title:  templates.Link{Text: l.Title, Href: articlePath(l.Slug)},
			Meta:   []templates.Link{memberLink(l.Author)},
			Figure: templates.Counted(l.Views, "view", "views"),
			Share:  float64(l.Views) / float64(all[0].Views),
		})
	}
	return rows
}

func (a *Article) facts() templates.Facts {
	rank := templates.Fact{
		Before: "rank", After: "of " + templates.Grouped(a.Of),
		Figure: templates.Link{Text: "#" + templates.Grouped(a.Rank), Href: "/ranking?" + url.Values{"page": {idOf(a.Slug)}}.Encode()},
	}
	liked := "/ranking?" + url.Values{"page": {idOf(a.Slug)}, "span": {"liked"}}.Encode()
	return templates.Facts{Facts: []templates.Fact{rank, fact(a.Views, "view", "views", ""), fact(0, "like", "likes", liked), fact(a.Comments, "comment", "comments", "#comments")}}
}

func fact(n int64, one, many, href string) templates.Fact {
	f := templates.Counted(n, one, many)
	return templates.Fact{Figure: templates.Link{Text: f.Value, Href: href}, After: f.Unit}
}

func counted(n int64, one, many string) string {
	return templates.Counted(n, one, many).Words()
}

// ago returns a time as it reads in a list at the time Now.
func ago(t time.Time) templates.Moment {
	m := templates.Moment{At: t}
	switch past := Now.Sub(t); {
	case past < time.Hour:
		m.Words = strconv.Itoa(int(past.Minutes())) + " min"
	case past < 24*time.Hour:
		m.Words = strconv.Itoa(int(past.Hours())) + " hr"
	case past < 7*24*time.Hour:
		m.Words = counted(int64(past.Hours()/24), "day", "days")
	case t.UTC().Year() == Now.Year():
		m.Words = t.UTC().Format("Jan 2")
	default:
		m.Words = t.UTC().Format("Jan 2006")
	}
	return m
}
