package forum

import (
	"cmp"
	"context"

	"github.com/ringtree/ringtree/kvmodel"
)

// Comment adds a comment on a story or, if parent is not empty, on a comment of it.
func (f *Forum) Comment(ctx context.Context, name, story, parent, text string) (*Comment, error) {
	c := &Comment{Story: story, Parent: parent, Author: name, Text: text}
	if parent == "" {
		s, err := f.m.Stories.Get(ctx, story)
		if err != nil {
			return nil, err
		}
		c.To = s.Author
	} else {
		p, err := f.m.Comments.Get(ctx, parent)
		if err == nil && p.Story != story {
			err = kvmodel.ErrNotFound
		}
		if err != nil {
			return nil, err
		}
		c.To = p.Author
	}
	if c.To == name {
		c.To = ""
	}
	return c, f.m.Comments.Create(ctx, c)
}

// Remove empties a comment of the reader. The comments on it stay.
func (f *Forum) Remove(ctx context.Context, name, comment string) error {
	_, err := f.m.Comments.Update(ctx, comment, func(c *Comment) error {
		if c.Author != name {
			return ErrForbidden
		}
		c.Author, c.To, c.Text = "", "", ""
		return nil
	})
	return err
}

// Story is the page of a story: the best comments first, each followed by those on it.
func (f *Forum) Story(ctx context.Context, name, id string) (*Page, error) {
	return f.page(ctx, name, func(ctx context.Context, p *Page) error {
		var story *Story
		var comments []*Comment
		err := f.db.SideBySide(ctx,
			func(ctx context.Context) (err error) { story, err = f.m.Stories.Get(ctx, id); return err },
			func(ctx context.Context) error {
				for cursor := ""; ; {
					some, err := f.m.Comments.ByStory.Of(id).Page(ctx, cursor, kvmodel.MaxPage)
					comments, cursor = append(comments, some.Items...), some.Next
					if err != nil || cursor == "" {
						return err
					}
				}
			},
		)
		if err != nil {
			return err
		}
		tree := kvmodel.Tree(f.m.Comments.Records, comments, parent, best)
		for i, branch := range tree {
			comments[i] = branch.Item
		}
		err = f.show(ctx, name, p, []*Story{story}, comments)
		for i := range p.Comments {
			p.Comments[i].Depth = tree[i].Depth
		}
		return err
	})
}

func parent(c *Comment) string { return c.Parent }

// best compares comments on the same: by their scores, and then by their age.
func best(a, b *Comment) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), a.Made.Compare(b.Made))
}

func (f *Forum) NewestComments(ctx context.Context, name, cursor string) (*Page, error) {
	return f.comments(ctx, name, f.m.Comments.Newest, cursor)
}

// Replies is the comments on stories and comments of the reader, newest first.
func (f *Forum) Replies(ctx context.Context, name, cursor string) (*Page, error) {
	return f.comments(ctx, name, f.m.Comments.Replies.Of(name), cursor)
}

// Look notes that the reader has seen all replies.
func (f *Forum) Look(ctx context.Context, name string) error {
	_, err := f.m.Users.Update(ctx, name, func(u *User) error {
		u.Looked = f.db.Now()
		return nil
	})
	return err
}

func (f *Forum) comments(ctx context.Context, name string, from kvmodel.Lister[Comment], cursor string) (*Page, error) {
	return f.page(ctx, name, func(ctx context.Context, p *Page) error { return f.addComments(ctx, name, p, from, cursor) })
}

func (f *Forum) addComments(ctx context.Context, name string, p *Page, from kvmodel.Lister[Comment], cursor string) error {
	found, err := from.Page(ctx, cursor, Shown)
	if err != nil {
		return err
	}
	p.Next = found.Next
	var stories map[string]*Story
	err = f.db.SideBySide(ctx,
		func(ctx context.Context) (err error) {
			stories, err = kvmodel.Load(ctx, f.m.Stories.Records, found.Items, func(c *Comment) string { return c.Story })
			return err
		},
		func(ctx context.Context) error { return f.show(ctx, name, p, nil, found.Items) },
	)
	for i := range p.Comments {
		p.Comments[i].On = stories[p.Comments[i].Story]
	}
	return err
}
