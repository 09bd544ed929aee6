package forum

import (
	"context"
	"errors"

	"github.com/ringtree/ringtree/kvmodel"
)

func (v *Vote) Validate() error {
	p := kvmodel.Problems{}
	if v.Value != 1 && v.Value != -1 {
		p.Add("Value", "A vote is 1 or -1.")
	}
	return p.Err()
}

func (v *Vote) value() int64 {
	if v == nil {
		return 0
	}
	return v.Value
}

// VoteStory sets the reader's vote for a story: 1, -1, or 0 to take it back.
func (f *Forum) VoteStory(ctx context.Context, name, story string, value int64) error {
	s, err := f.m.Stories.Get(ctx, story)
	if err != nil {
		return err
	}
	return f.vote(ctx, &Vote{User: name, Item: story, Story: story, Author: s.Author, Value: value})
}

func (f *Forum) VoteComment(ctx context.Context, name, comment string, value int64) error {
	c, err := f.m.Comments.Get(ctx, comment)
	if err != nil {
		return err
	}
	return f.vote(ctx, &Vote{User: name, Item: comment, Comment: comment, Author: c.Author, Value: value})
}

func (f *Forum) vote(ctx context.Context, v *Vote) error {
	switch {
	case v.Author == v.User:
		return ErrOwn
	case v.Value == 0:
		return unless(kvmodel.ErrNotFound, f.m.Votes.Delete(ctx, VoteID{User: v.User, Item: v.Item}))
	}
	return f.m.Votes.Put(ctx, v)
}

// unless returns err, or nil if it means that nothing was to be done.
func unless(done, err error) error {
	if errors.Is(err, done) {
		return nil
	}
	return err
}

// Save puts a story on the reader's list, or takes it off.
func (f *Forum) Save(ctx context.Context, name, story string, saved bool) error {
	if !saved {
		return unless(kvmodel.ErrNotFound, f.m.Saves.Delete(ctx, SaveID{User: name, Story: story}))
	}
	return unless(kvmodel.ErrExists, f.m.Saves.Create(ctx, &Save{User: name, Story: story}))
}

// Hide leaves a story out of the reader's lists, or shows it again.
func (f *Forum) Hide(ctx context.Context, name, story string, hidden bool) error {
	if !hidden {
		return unless(kvmodel.ErrNotFound, f.m.Hides.Delete(ctx, HideID{User: name, Story: story}))
	}
	return unless(kvmodel.ErrExists, f.m.Hides.Create(ctx, &Hide{User: name, Story: story}))
}

// Saved is the stories that the reader has saved, the latest first.
func (f *Forum) Saved(ctx context.Context, name, cursor string) (*Page, error) {
	return f.page(ctx, name, func(ctx context.Context, p *Page) error {
		saves, err := f.m.Saves.TopMadeByUser.Of(name).Page(ctx, cursor, Shown)
		if err != nil {
			return err
		}
		p.Next = saves.Next
		byID, err := kvmodel.Load(ctx, f.m.Stories.Records, saves.Items, func(s *Save) string { return s.Story })
		if err != nil {
			return err
		}
		var stories []*Story
		for _, s := range saves.Items {
			if story := byID[s.Story]; story != nil {
				stories = append(stories, story)
			}
		}
		return f.show(ctx, name, p, stories, nil)
	})
}
