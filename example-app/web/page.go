package web

import (
	"context"
	"errors"
	"strconv"
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
	var reading *ashiato.Reading
	var place *ashiato.Place
	err := ashiato.SideBySide(v.Context(),
		func(ctx context.Context) (err error) { reading, err = s.read(ctx, v, slug); return err },
		func(ctx context.Context) (err error) { place, err = s.placeOf(ctx, slug); return err })
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
	if place != nil {
		neighbours, top := aroundOf(place, "this page")
		page.Around, page.Top = &neighbours, top
	}
	if r.status != 0 {
		page.Comments.Action = "/comment/" + reading.ID
	}
	page.Comments.Notice, page.Comments.Field.Error, page.Comments.Field.Value = r.notice, r.problems["text"], text
	return answer{status: r.status, title: reading.Title, body: page.Body()}, nil
}

// placeOf returns where the page stands in the ranking, or nil.
func (s *Site) placeOf(ctx context.Context, slug string) (*ashiato.Place, error) {
	place, err := s.app.Place(ctx, slug)
	if errors.Is(err, kvmodel.ErrNotFound) || errors.Is(err, kvmodel.ErrNeedsRebuild) {
		return nil, nil
	}
	return place, err
}

// authorOf returns who has written the page as member sees them; nil: they are
// gone.
func (s *Site) authorOf(ctx context.Context, member string, r *ashiato.Reading) (*ashiato.Profile, error) {
	if r.By == nil {
		return nil, nil
	}
	profile, err := s.app.Profile(ctx, member, r.By.Handle, "")
	if errors.Is(err, kvmodel.ErrNotFound) {
		return nil, nil
	}
	return profile, err
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

func authorCard(r *ashiato.Reading, by *ashiato.Profile, member string) pages.Author {
	card := pages.Author{Link: linkTo(r.By)}
	if by == nil {
		return card
	}
	card.About = by.Member.About
	card.Words = counted(by.Member.Followers, "follower", "followers")
	if member != r.Author {
		card.Follow = pages.Follow{Action: memberPath(by.Member.Handle), Following: by.Followed}
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
			Before: "rank", Figure: templates.Link{Text: "#" + templates.Grouped(int64(r.Rank)), Href: with("/ranking", "page", r.Slug)},
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
func moreBy(r *ashiato.Reading, by *ashiato.Profile, now time.Time) []templates.Row {
	if by == nil {
		return nil
	}
	var others []ashiato.Entry
	for _, e := range by.Pages.Entries {
		if e.ID != r.ID && len(others) < moreByAuthor {
			others = append(others, e)
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

// aroundOf returns where a page stands, and how near the top that is. Of a place
// it says what it takes to rise.
func aroundOf(p *ashiato.Place, yours string) (templates.Around, string) {
	a := templates.Around{Rows: ranked(p.Around, 0), Rank: int64(p.Rank), Of: int64(p.Of)}
	for i := range a.Rows {
		if p.Around[i].ID == p.Page.ID {
			a.Rows[i].Yours = true
			a.Rows[i].Meta = []templates.Link{{Text: yours}}
		}
	}
	if p.Rank > 1 {
		a.Next = rise(p)
	}
	return a, "top " + strconv.Itoa(max(1, int(100-p.Percentile+.5))) + " %"
}

func rise(p *ashiato.Place) string {
	return counted(p.ToRise+1, "more view", "more views") + " to pass #" + templates.Grouped(int64(p.Rank-1)) + "."
}
