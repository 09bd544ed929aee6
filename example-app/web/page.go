package web

import (
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// page shows the page whose slug is in the path, and counts the view.
func (s *Site) page(v *visit) (answer, error) {
	return s.pageWith(v, v.PathValue("slug"), refused{}, "")
}

// pageWith shows a page and, if there is one, the comment that was refused.
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
		page.Edit, page.History = editPath(reading.ID), historyPath(reading.ID)
	} else {
		page.Like = pages.Like{Action: pagePath(reading.Slug), Liked: reading.Liked}
	}
	if r.status != 0 {
		page.Comments.Action = "/comment/" + reading.ID
	}
	page.Comments.Notice, page.Comments.Field.Error, page.Comments.Field.Value = r.notice, r.problems["text"], text
	return answer{status: r.status, title: reading.Title, slug: reading.Slug, body: page.Body()}, nil
}

// read returns the page. It counts a view, unless the request is a prefetch, an
// embed, or for further comments.
func (s *Site) read(v *visit, member, slug string) (*ashiato.Reading, error) {
	cursor := v.FormValue("comments")
	if v.looks() && cursor == "" {
		return s.app.View(v.Context(), member, v.from, slug)
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
		words += " · edited " + on(p.Edited)
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
	return templates.Facts{Facts: append(facts, fact(r.Views, "view", "views", ""),
		fact(r.Likes, "like", "likes", rankPath(ashiato.MostLiked, "", r.ID)), fact(r.Comments, "comment", "comments", "#comments"))}
}

// moreBy returns rows for other pages by the author.
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

// comments returns the comments on a page, with the form for a new one.
func (s *Site) comments(r *ashiato.Reading, member string, now time.Time) pages.Comments {
	c := pages.Comments{
		Count: counted(r.Comments, "comment", "comments"),
		Pager: pagerOf(r.Prev, r.Next, "Newer", "Older", func(cursor string) string {
			return with(pagePath(r.Slug), "comments", cursor) + "#comments"
		}),
		LogIn: logInPath(pagePath(r.Slug)),
		ID:    s.app.NewID(),
		Field: templates.Field{Name: "text", Label: "Your comment", Rows: 4, Max: ashiato.MaxComment, Required: true},
		Empty: unlessRebuilding(r.Rebuilding, templates.Empty{}),
	}
	if member != "" {
		c.Action = "/comment/" + r.ID
	}
	for _, remark := range r.Remarks {
		c.All = append(c.All, pages.Comment{Who: linkTo(remark.By), When: ago(now, remark.At), Text: remark.Text})
	}
	return c
}
