package conduit

import (
	"cmp"
	"context"
	"slices"

	"github.com/ringtree/ringtree/kvmodel"
)

func (c *Comment) Validate() error {
	p := kvmodel.Problems{}
	notBlank(p, "body", c.Body)
	return p.Err()
}

// Comments is GET /api/articles/{slug}/comments: up to a thousand, oldest first.
func (a *App) Comments(ctx context.Context, viewer, slug string) ([]CommentView, error) {
	x, err := a.article(ctx, slug)
	if err != nil {
		return nil, err
	}
	comments, err := a.m.Comments.ByArticle.Of(x.ID).Page(ctx, "", kvmodel.MaxPage)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(comments.Items, func(a, b *Comment) int { return cmp.Compare(a.ID, b.ID) })
	var by []byline
	for _, c := range comments.Items {
		by = append(by, byline{c.Article, c.Author})
	}
	authors, err := a.profiles(ctx, viewer, by)
	if err != nil {
		return nil, err
	}
	views := []CommentView{}
	for _, c := range comments.Items {
		views = append(views, commentOf(c, authors[c.Author]))
	}
	return views, nil
}

func commentOf(c *Comment, author Profile) CommentView {
	return CommentView{ID: c.ID, CreatedAt: c.Made, UpdatedAt: c.Edited, Body: c.Body, Author: author}
}

// AddComment is POST /api/articles/{slug}/comments.
func (a *App) AddComment(ctx context.Context, viewer, slug, body string) (*CommentView, error) {
	var x *Article
	var authors map[string]Profile
	err := a.db.SideBySide(ctx,
		func(ctx context.Context) (err error) { x, err = a.article(ctx, slug); return err },
		func(ctx context.Context) (err error) {
			authors, err = a.profiles(ctx, viewer, []byline{{author: viewer}})
			return err
		},
	)
	if err != nil {
		return nil, err
	}
	c := &Comment{Article: x.ID, Author: viewer, Body: body}
	if err := a.m.Comments.Create(ctx, c); err != nil {
		return nil, err
	}
	v := commentOf(c, authors[viewer])
	return &v, nil
}

// DeleteComment is DELETE /api/articles/{slug}/comments/{id}.
func (a *App) DeleteComment(ctx context.Context, viewer, slug string, id int64) error {
	var x *Article
	var c *Comment
	err := a.db.SideBySide(ctx,
		func(ctx context.Context) (err error) { x, err = a.article(ctx, slug); return err },
		func(ctx context.Context) (err error) {
			c, err = a.m.Comments.Get(ctx, id)
			return about("comment", err)
		},
	)
	switch {
	case err != nil:
		return err
	case c.Article != x.ID:
		return about("comment", kvmodel.ErrNotFound)
	case c.Author != viewer:
		return about("comment", ErrForbidden)
	}
	return a.m.Comments.Delete(ctx, id)
}
