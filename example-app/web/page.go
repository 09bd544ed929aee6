package web

import (
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// page shows the page with the slug in the path, and counts the view.
func (s *Site) page(v *visit) (answer, error) {
	return s.pageWith(v, v.PathValue("slug"), refused{}, "")
}

// pageWith shows a page, with a comment that was refused, if any.
func (s *Site) pageWith(v *visit, slug string, r refused, text string) (answer, error) {
	member, err := v.member()
	if err != nil {
		return answer{}, err
	}
	reading, err := s.read(v, member, slug)
	if err != nil {
		return answer{}, err
	}
	now := s.app.DB().Now()
	page := pages.Page{
		Title:    reading.Title,
		Author:   authorCard(reading, member),
		When:     published(reading.Page),
		Facts:    factsOf(reading),
		Text:     reading.Body,
		Topics:   linksTo(reading.Topics),
		Comments: s.comments(reading, member, now),
		More:     moreBy(reading, now),
	}
	if member == reading.Author {
		page.Edit = editPath(reading.ID)
	}
	if r.status != 0 {
		page.Comments.Action = "/comment/" + reading.ID
	}
	page.Comments.Notice, page.Comments.Field.Error, page.Comments.Field.Value = r.notice, r.problems["text"], text
	return answer{status: r.status, title: reading.Title, slug: reading.Slug, body: page.Body()}, nil
}

// read returns the page, and counts the view if somebody looks at it and does not
// turn the pages of its comments.
func (s *Site) read(v *visit, member, slug string) (*ashiato.Reading, error) {
	cursor := v.FormValue("comments")
	if v.looks() && cursor == "" {
		return s.app.View(v.Context(), member, slug)
	}
	return s.app.Read(v.Context(), member, slug, cursor)
}

func authorCard(r *ashiato.Reading, member string) pages.Author {
	card := pages.Author{Link: linkTo(r.By)}
	if r.By == nil {
		return card
	}
	card.About = r.By.About
	card.Words = counted(r.By.Followers, "follower", "followers")
	if member != r.Author {
		card.Follow = pages.Follow{Action: memberPath(r.By.Handle), Following: r.Followed}
	}
	return card
}

func published(p *ashiato.Page) string {
	words := on(p.Published)
	if !p.Edited.IsZero() && p.Edited.After(p.Published.Add(time.Second)) {
		words += ", edited " + on(p.Edited)
	}
	return words
}

func factsOf(r *ashiato.Reading) templates.Facts {
	var facts []templates.Fact
	if r.Rank > 0 {
		facts = append(facts, templates.Fact{
			Before: "rank", Figure: templates.Link{Text: "#" + templates.Grouped(int64(r.Rank)), Href: with("/ranking", "page", r.ID)},
			After: "of " + templates.Grouped(int64(r.Of)),
		})
	}
	viewed := templates.Counted(r.Views, "view", "views")
	said := templates.Counted(r.Comments, "comment", "comments")
	return templates.Facts{Facts: append(facts,
		templates.Fact{Figure: templates.Link{Text: viewed.Value}, After: viewed.Unit},
		templates.Fact{Figure: templates.Link{Text: said.Value, Href: "#comments"}, After: said.Unit})}
}

// moreBy returns rows of other pages by the author.
func moreBy(r *ashiato.Reading, now time.Time) []templates.Row {
	var others []ashiato.Entry
	for _, p := range r.More {
		others = append(others, ashiato.Entry{Page: p})
	}
	all := rows(others, now)
	for i := range all {
		all[i].Meta = nil
	}
	return all
}

// comments returns what was said about a page, with the form to say more.
func (s *Site) comments(r *ashiato.Reading, member string, now time.Time) pages.Comments {
	c := pages.Comments{
		Count: counted(r.Comments, "comment", "comments"),
		Pager: commentPager(r),
		LogIn: logInPath(pagePath(r.Slug)),
		ID:    s.app.NewID(),
		Field: templates.Field{Name: "text", Label: "Your comment", Rows: 4, Max: ashiato.MaxComment, Required: true},
	}
	if member != "" {
		c.Action = "/comment/" + r.ID
	}
	for _, remark := range r.Remarks {
		c.All = append(c.All, pages.Comment{Who: linkTo(remark.By), When: ago(now, remark.At), Text: remark.Text})
	}
	return c
}

func commentPager(r *ashiato.Reading) templates.Pager {
	var p templates.Pager
	if r.Prev != "" {
		p.Back = templates.Link{Text: "Newer", Href: with(pagePath(r.Slug), "comments", r.Prev) + "#comments"}
	}
	if r.Next != "" {
		p.On = templates.Link{Text: "Older", Href: with(pagePath(r.Slug), "comments", r.Next) + "#comments"}
	}
	return p
}
