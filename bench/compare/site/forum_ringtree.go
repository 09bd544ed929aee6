package site

import (
	"context"
	"fmt"

	"github.com/ringtree/ringtree/bench/compare/place"
	"github.com/ringtree/ringtree/examples/forum"
	"github.com/ringtree/ringtree/kvmodel"
)

// ringtreeForum is the unmodified forum, on any store.
type ringtreeForum struct {
	*place.Database
	app *forum.Forum
}

func openForumRingtree(url string) func(context.Context, place.Place) (Forum, error) {
	return func(ctx context.Context, at place.Place) (Forum, error) {
		d, err := at.OpenDatabase(ctx, url, kvmodel.Tenant("forum"))
		return &ringtreeForum{Database: d}, err
	}
}

// relaxedForum need not wait for the disk to acknowledge a vote.
type relaxedForum struct{ Forum }

func openForumRelaxed(url string) func(context.Context, place.Place) (Forum, error) {
	return func(ctx context.Context, at place.Place) (Forum, error) {
		f, err := openForumRingtree(url)(ctx, at)
		return relaxedForum{f}, err
	}
}

func (r relaxedForum) VoteStory(ctx context.Context, reader, story int, value int64) error {
	return r.Forum.VoteStory(kvmodel.Relaxed(ctx), reader, story, value)
}

func (r relaxedForum) VoteComment(ctx context.Context, reader, comment int, value int64) error {
	return r.Forum.VoteComment(kvmodel.Relaxed(ctx), reader, comment, value)
}

func (r *ringtreeForum) Close() error { return r.DB.Close(context.Background()) }

func storyID(story int) string     { return fmt.Sprintf("s%025d", story) }
func commentID(comment int) string { return fmt.Sprintf("c%025d", comment) }

// readerName returns "" for a guest.
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

// load creates everything in the order of writing, which timelines keep.
func (r *ringtreeForum) load(ctx context.Context, d *Threads) error {
	m := r.app.Models()
	var users []*forum.User
	for i := range d.Users {
		u := &forum.User{Name: Username(i), About: bio(i), Looked: spoken(len(d.Comments) * 9 / 10)}
		if d.Muted[i] >= 0 {
			u.Muted = []string{Tag(d.Muted[i])}
		}
		users = append(users, u)
	}
	if err := inBatches(ctx, users, m.Users.CreateMulti); err != nil {
		return err
	}
	var stories []*forum.Story
	for i, p := range d.Stories {
		stories = append(stories, &forum.Story{ID: storyID(i), URL: link(i), Title: headline(i), Author: Username(p.Author), Tags: p.tags(), Made: submitted(i)})
	}
	if err := inBatches(ctx, stories, m.Stories.CreateMulti); err != nil {
		return err
	}
	var comments []*forum.Comment
	for i, c := range d.Comments {
		x := &forum.Comment{ID: commentID(i), Story: storyID(c.Story), Author: Username(c.Author), To: readerName(d.to(c)), Text: remark(i), Made: spoken(i)}
		if c.Parent >= 0 {
			x.Parent = commentID(c.Parent)
		}
		comments = append(comments, x)
	}
	if err := inBatches(ctx, comments, m.Comments.CreateMulti); err != nil {
		return err
	}
	var votes []*forum.Vote
	for _, v := range d.Votes {
		x := &forum.Vote{User: Username(v.User), Value: v.Value}
		if v.Comment < 0 {
			x.Story, x.Author = storyID(v.Story), Username(d.Stories[v.Story].Author)
			x.Item = x.Story
		} else {
			x.Comment, x.Author = commentID(v.Comment), Username(d.Comments[v.Comment].Author)
			x.Item = x.Comment
		}
		votes = append(votes, x)
	}
	if err := inBatches(ctx, votes, m.Votes.CreateMulti); err != nil {
		return err
	}
	var saves []*forum.Save
	for i, s := range d.Saves {
		saves = append(saves, &forum.Save{User: Username(s[0]), Story: storyID(s[1]), Made: spoken(i)})
	}
	if err := inBatches(ctx, saves, m.Saves.CreateMulti); err != nil {
		return err
	}
	var hides []*forum.Hide
	for _, h := range d.Hides {
		hides = append(hides, &forum.Hide{User: Username(h[0]), Story: storyID(h[1])})
	}
	if err := inBatches(ctx, hides, m.Hides.CreateMulti); err != nil {
		return err
	}
	return r.Flush(ctx)
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
