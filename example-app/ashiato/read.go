package ashiato

import (
	"cmp"
	"context"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// Reading is a page as shown to one reader.
type Reading struct {
	Entry
	Followed   bool // whether the reader follows the author
	Liked      bool // whether the reader likes the page
	Rank, Of   int  // by all views, from 1, among the ranked pages; 0 if not ranked yet
	Remarks    []Remark
	Next, Prev string // the cursors of older and of newer comments
	Rebuilding bool   // no Remarks, because their index has to be rebuilt first
}

// Remark is a comment with its author.
type Remark struct {
	*Comment
	By *Member // nil if they have left
}

// For viewTime, further views of a page by a visitor do not count.
const viewTime = time.Hour

// Read returns a page with its comments from the cursor on, ErrNotFound or ErrBadCursor.
func (s *Site) Read(ctx context.Context, who, slug, cursor string) (*Reading, error) {
	return s.View(ctx, who, "", slug, cursor)
}

// View is Read, and counts a view by the member or, for a guest, by the address from, unless that
// is empty.
func (s *Site) View(ctx context.Context, who, from, slug, cursor string) (*Reading, error) {
	p, err := s.Models.Pages.BySlug.Find(ctx, normal(slug))
	if err != nil {
		return nil, err
	}
	r := &Reading{Entry: Entry{Page: p}}
	err = s.db.SideBySide(ctx,
		func(ctx context.Context) error { return s.discuss(ctx, r, cursor) },
		func(ctx context.Context) error { return s.count(ctx, p, who, from) },
		func(ctx context.Context) (err error) { r.Rank, r.Of, err = s.standing(ctx, p.ID); return err },
		func(ctx context.Context) (err error) { r.Followed, err = s.follows(ctx, who, p.Author); return err },
		func(ctx context.Context) (err error) { r.Liked, err = s.likes(ctx, who, p.ID); return err })
	return r, err
}

func (s *Site) count(ctx context.Context, p *Page, who, from string) error {
	if from == "" {
		return nil
	}
	ctx = kvmodel.Relaxed(ctx) // A power cut may lose a view.
	err := s.Models.Views.Create(ctx, &View{Page: p.ID, Visitor: cmp.Or(who, from), Until: s.now().Add(viewTime)})
	if err == nil {
		p.Views, err = s.Models.Pages.Views.Hit(ctx, p.ID)
	}
	return unlessThere(err)
}

func (s *Site) discuss(ctx context.Context, r *Reading, cursor string) error {
	comments, err := s.Models.Comments.NewestByPage.Of(r.ID).Page(ctx, cursor, pageSize)
	if err := orRebuilding(&r.Rebuilding, err); err != nil {
		return err
	}
	ids := []string{r.Author}
	for _, c := range comments.Items {
		ids = append(ids, c.Author)
	}
	members, err := kvmodel.Load(ctx, s.Models.Members.Records, ids, func(id string) string { return id })
	if err != nil {
		return err
	}
	r.By, r.Next, r.Prev = members[r.Author], comments.Next, comments.Prev
	for _, c := range comments.Items {
		r.Remarks = append(r.Remarks, Remark{c, members[c.Author]})
	}
	return nil
}

// standing returns zeros if the page is not ranked yet, or the ranking has to be rebuilt.
func (s *Site) standing(ctx context.Context, id string) (rank, of int, err error) {
	standing, err := s.Models.Pages.TopViews.Standing(ctx, id)
	return standing.Rank, standing.Len, unlessRebuilding(unlessGone(err))
}
