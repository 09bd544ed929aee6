package site

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/examples/forum"
	"github.com/ringtree/ringtree/kvmodel"
)

type ringtreeForum struct {
	*place.Database
	app *forum.Forum
}

func forumOnStore(url string) place.Opener[Forum] {
	return place.Over(place.Ringtree(url, kvmodel.Tenant("forum")), func(d *place.Database) Forum { return &ringtreeForum{Database: d} })
}

// relaxedForum does not wait for the disk when it votes.
type relaxedForum struct{ Forum }

func relaxed(f Forum) Forum { return relaxedForum{f} }

func (r relaxedForum) VoteStory(ctx context.Context, reader, story int, value int64) error {
	return r.Forum.VoteStory(kvmodel.Relaxed(ctx), reader, story, value)
}

func (r relaxedForum) VoteComment(ctx context.Context, reader, comment int, value int64) error {
	return r.Forum.VoteComment(kvmodel.Relaxed(ctx), reader, comment, value)
}

func storyID(story int) string     { return fmt.Sprintf("s%025d", story) }
func commentID(comment int) string { return fmt.Sprintf("c%025d", comment) }

func readerName(reader int) string {
	if reader < 0 {
		return ""
	}
	return Username(reader)
}

func (r *ringtreeForum) Load(ctx context.Context, d *Threads) error {
	opened := func() { r.app = forum.Open(r.DB) }
	return r.Database.Load(ctx, opened, func() error { return r.load(ctx, d) })
}

// load keeps the order of writing, as timelines do.
func (r *ringtreeForum) load(ctx context.Context, d *Threads) error {
	m := r.app.Models()
	return errors.Join(
		create(ctx, m.Users.CreateMulti, d.Users, func(i int) *forum.User {
			u := &forum.User{Name: Username(i), About: bio(i), Looked: spoken(len(d.Comments) * 9 / 10)}
			if d.Muted[i] >= 0 {
				u.Muted = []string{Tag(d.Muted[i])}
			}
			return u
		}),
		create(ctx, m.Stories.CreateMulti, len(d.Stories), func(i int) *forum.Story {
			p := d.Stories[i]
			return &forum.Story{ID: storyID(i), URL: link(i), Title: headline(i), Author: Username(p.Author), Tags: p.tags(), Made: submitted(i)}
		}),
		create(ctx, m.Comments.CreateMulti, len(d.Comments), func(i int) *forum.Comment {
			c := d.Comments[i]
			x := &forum.Comment{ID: commentID(i), Story: storyID(c.Story), Author: Username(c.Author), To: readerName(d.to(c)), Text: remark(i), Made: spoken(i)}
			if c.Parent >= 0 {
				x.Parent = commentID(c.Parent)
			}
			return x
		}),
		create(ctx, m.Votes.CreateMulti, len(d.Votes), func(i int) *forum.Vote {
			v := d.Votes[i]
			if v.Comment < 0 {
				return &forum.Vote{User: Username(v.User), Value: v.Value, Item: storyID(v.Story), Story: storyID(v.Story), Author: Username(d.Stories[v.Story].Author)}
			}
			return &forum.Vote{User: Username(v.User), Value: v.Value, Item: commentID(v.Comment), Comment: commentID(v.Comment), Author: Username(d.Comments[v.Comment].Author)}
		}),
		create(ctx, m.Saves.CreateMulti, len(d.Saves), func(i int) *forum.Save {
			return &forum.Save{User: Username(d.Saves[i][0]), Story: storyID(d.Saves[i][1]), Made: spoken(i)}
		}),
		create(ctx, m.Hides.CreateMulti, len(d.Hides), func(i int) *forum.Hide {
			return &forum.Hide{User: Username(d.Hides[i][0]), Story: storyID(d.Hides[i][1])}
		}),
		r.Flush(ctx))
}

func (r *ringtreeForum) Front(ctx context.Context, reader int) (*forum.Page, error) {
	return r.app.Front(ctx, readerName(reader), "")
}

func (r *ringtreeForum) Story(ctx context.Context, reader, story int) (*forum.Page, error) {
	return r.app.Story(ctx, readerName(reader), storyID(story))
}

func (r *ringtreeForum) User(ctx context.Context, reader, user int) (*forum.Page, error) {
	return r.app.User(ctx, readerName(reader), Username(user))
}

func (r *ringtreeForum) NewestComments(ctx context.Context, reader int) (*forum.Page, error) {
	return r.app.NewestComments(ctx, readerName(reader), "")
}

func (r *ringtreeForum) VoteStory(ctx context.Context, reader, story int, value int64) error {
	return r.app.VoteStory(ctx, readerName(reader), storyID(story), value)
}

func (r *ringtreeForum) VoteComment(ctx context.Context, reader, comment int, value int64) error {
	return r.app.VoteComment(ctx, readerName(reader), commentID(comment), value)
}

func (r *ringtreeForum) Comment(ctx context.Context, reader, story, parent int, text string) error {
	on := ""
	if parent >= 0 {
		on = commentID(parent)
	}
	_, err := r.app.Comment(ctx, readerName(reader), storyID(story), on, text)
	return err
}

func (r *ringtreeForum) Submit(ctx context.Context, reader int, n forum.NewStory) error {
	_, err := r.app.Submit(ctx, readerName(reader), n)
	return err
}
