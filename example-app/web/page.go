package web

import (
	"context"
	"errors"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/templates"
)

// moreByAuthor is how many other pages of its author a page names.
const moreByAuthor = 3

// page shows the page with the slug in the path, and counts the view.
func (s *Site) page(v *visit) (answer, error) {
	return s.pageWith(v, v.PathValue("slug"), refused{}, "")
}

// pageWith shows a page, with a comment that was refused, if any.
func (s *Site) pageWith(v *visit, slug string, r refused, text string) (answer, error) {
	reading, err := s.read(v.Context(), v, slug)
	if err != nil {
		return answer{}, err
	}
	member, err := v.member()
	if err != nil {
		return answer{}, err
	}
	by, err := s.authorOf(v.Context(), member, reading)
	if err != nil {
		return answer{}, err
	}
	now := s.app.DB().Now()
	page := pages.Page{
		Title:    reading.Title,
		Author:   authorCard(reading, by, member),
		When:     published(reading.Page),
		Facts:    factsOf(reading),
		Text:     reading.Body,
		Topics:   linksTo(reading.Topics),
		Comments: s.comments(reading, member, now),
		More:     moreBy(reading, by, now),
	}
	if member == reading.Author {
		page.Edit = editPath(reading.ID)
	}
	if r.status != 0 {
		page.Comments.Action = "/comment/" + reading.ID
	}
	page.Comments.Notice, page.Comments.Field.Error, page.Comments.Field.Value = r.notice, r.problems["text"], text
	return answer{status: r.status, title: reading.Title, body: page.Body()}, nil
}

// author is what the card of a page's author shows besides the author.
type author struct {
	pages    []*ashiato.Page // the newest ones
	followed bool            // by who looks
}

// authorOf returns what is to be told of who has written the page.
func (s *Site) authorOf(ctx context.Context, member string, r *ashiato.Reading) (a author, err error) {
	if r.By == nil {
		return a, nil
	}
	err = ashiato.SideBySide(ctx,
		func(ctx context.Context) error {
			list, err := s.app.Models.Pages.NewestByAuthor.Of(r.Author).Page(ctx, "", moreByAuthor+1)
			a.pages = list.Items
			return err
		},
		func(ctx context.Context) error {
			if member == "" || member == r.Author {
				return nil
			}
			_, err := s.app.Models.Follows.Get(ctx, ashiato.FollowID{Follower: member, Followed: r.Author})
			if errors.Is(err, kvmodel.ErrNotFound) {
				return nil
			}
			a.followed = err == nil
			return err
		})
	return a, err
}

// read returns the page, and counts the view if somebody looks at it and does not
// turn the pages of its comments.
func (s *Site) read(ctx context.Context, v *visit, slug string) (*ashiato.Reading, error) {
	cursor := v.FormValue("comments")
	if v.looks() && cursor == "" {
		return s.app.View(ctx, slug)
	}
	return s.app.Read(ctx, slug, cursor)
}

func authorCard(r *ashiato.Reading, by author, member string) pages.Author {
	card := pages.Author{Link: linkTo(r.By)}
	if r.By == nil {
		return card
	}
	card.About = r.By.About
	card.Words = counted(r.By.Followers, "follower", "followers")
	if member != r.Author {
		card.Follow = pages.Follow{Action: memberPath(r.By.Handle), Following: by.followed}
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

// moreBy returns a few other pages of the author.
func moreBy(r *ashiato.Reading, by author, now time.Time) []templates.Row {
	var others []ashiato.Entry
	for _, p := range by.pages {
		if p.ID != r.ID && len(others) < moreByAuthor {
			others = append(others, ashiato.Entry{Page: p})
		}
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
