package sampleapp

import (
	"bytes"
	"context"
	"io"

	"github.com/a-h/templ"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// Here the pages of the sample app get their values, which are those of its domain.

// WriteHome writes the home page.
func WriteHome(ctx context.Context, w io.Writer, s Site) error {
	home, err := s.Home(ctx)
	if err != nil {
		return err
	}
	page := &ashiato.Home{Week: placed(home.Week), First: first(home.Week), Pages: int(home.Pages), Members: int(home.Members)}
	for _, l := range home.Newest {
		page.Newest.Entries = append(page.Newest.Entries, l.entry())
	}
	return write(ctx, w, pages.Frame{Here: "/", Script: "/live.js"}, pages.Home(page, nil, nil, Now))
}

// WriteRanking writes the ranking of all time.
func WriteRanking(ctx context.Context, w io.Writer, s Site) error {
	ranks, err := s.Ranking(ctx)
	if err != nil {
		return err
	}
	page := &ashiato.Ranks{Order: ashiato.AllTime, Rows: placed(ranks.Top), First: first(ranks.Top), Of: int(ranks.Of), Next: ranks.Next}
	return write(ctx, w, pages.Frame{Title: "Ranking", Here: "/ranking"}, pages.Ranking(page, "", ""))
}

// WriteArticle writes the page with that slug.
func WriteArticle(ctx context.Context, w io.Writer, s Site, slug string) error {
	a, err := s.Article(ctx, slug)
	if err != nil {
		return err
	}
	page := &ashiato.Reading{Entry: a.entry(), Rank: int(a.Rank), Of: int(a.Of)}
	page.Body, page.Comments = a.Body, a.Comments
	page.By.About, page.By.Followers = a.About, a.Followers
	for _, r := range a.Remarks {
		page.Remarks = append(page.Remarks, ashiato.Remark{Comment: &ashiato.Comment{Text: r.Text, At: r.At}, By: &ashiato.Member{Handle: r.Author}})
	}
	for _, l := range a.More {
		page.More = append(page.More, l.entry().Page)
	}
	return write(ctx, w, pages.Frame{Title: a.Title, Slug: slug}, pages.Page(page, "", templates.Form{}, Now))
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

// entry returns l as the domain has it.
func (l Listed) entry() ashiato.Entry {
	page := &ashiato.Page{ID: idOf(l.Slug), Slug: l.Slug, Title: l.Title, Author: l.Author, Topics: l.Topics, Views: l.Views, Published: l.Published}
	return ashiato.Entry{Page: page, By: &ashiato.Member{Handle: l.Author}}
}

// placed returns the first entries of a ranking.
func placed(all []Listed) []ashiato.Placed {
	var rows []ashiato.Placed
	for i, l := range all {
		rows = append(rows, ashiato.Placed{Entry: l.entry(), Rank: i + 1, Score: l.Views})
	}
	return rows
}

func first(all []Listed) int64 {
	if len(all) == 0 {
		return 0
	}
	return all[0].Views
}
