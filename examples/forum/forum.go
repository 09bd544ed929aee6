package forum

import (
	"context"
	"errors"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/ranking"
)

// Forum is the site. Its methods take the name of the signed-in reader, "" for a guest.
type Forum struct {
	db *kvmodel.DB
	m  *Models
}

func Open(db *kvmodel.DB) *Forum { return &Forum{db, New(db)} }

// Models returns the records of the site, to fill or inspect them.
func (f *Forum) Models() *Models { return f.m }

// The reasons for refusing a change, besides those of package kvmodel.
var (
	ErrForbidden = errors.New("it belongs to another user")
	ErrOwn       = errors.New("it is the voter's own")
)

// Page is any page of the site. One that leaves out many stories may be short, even empty, and
// still have a Next.
type Page struct {
	User     *User
	Stories  []StoryView   // one on the page of a story
	Comments []CommentView // from top to bottom, or newest first
	Next     string        // the cursor of the next page, "" at the end
	Unread   int           // replies to the reader
}

type StoryView struct {
	*Story
	Vote  int64
	Saved bool
}

type CommentView struct {
	*Comment
	Depth int    // on the page of a story
	On    *Story // elsewhere, nil if it has just been deleted
	Vote  int64
}

const Shown = 30

// page returns the page that fill makes, and meanwhile counts the replies to the reader since the
// last look at them.
func (f *Forum) page(ctx context.Context, name string, fill func(context.Context, *Page) error) (*Page, error) {
	p := new(Page)
	return p, f.db.SideBySide(ctx,
		func(ctx context.Context) error { return fill(ctx, p) },
		func(ctx context.Context) error {
			if name == "" {
				return nil
			}
			u, err := f.m.Users.Get(ctx, name)
			if err == nil {
				p.Unread, err = f.m.Comments.Replies.Of(name).Between(u.Looked, f.db.Now()).Count(ctx)
			}
			return err
		},
	)
}

// show adds stories and comments to the page of a reader, in one trip.
func (f *Forum) show(ctx context.Context, name string, p *Page, stories []*Story, comments []*Comment) error {
	var votes map[VoteID]*Vote
	var saves map[SaveID]*Save
	if name != "" {
		var ids []VoteID
		for _, s := range stories {
			ids = append(ids, VoteID{User: name, Item: s.ID})
		}
		for _, c := range comments {
			ids = append(ids, VoteID{User: name, Item: c.ID})
		}
		err := f.db.SideBySide(ctx,
			func(ctx context.Context) (err error) {
				votes, err = kvmodel.Load(ctx, f.m.Votes.Records, ids, func(id VoteID) VoteID { return id })
				return err
			},
			func(ctx context.Context) (err error) {
				saves, err = kvmodel.Load(ctx, f.m.Saves.Records, stories, func(s *Story) SaveID { return SaveID{User: name, Story: s.ID} })
				return err
			},
		)
		if err != nil {
			return err
		}
	}
	for _, s := range stories {
		p.Stories = append(p.Stories, StoryView{s, votes[VoteID{name, s.ID}].value(), saves[SaveID{name, s.ID}] != nil})
	}
	for _, c := range comments {
		p.Comments = append(p.Comments, CommentView{Comment: c, Vote: votes[VoteID{name, c.ID}].value()})
	}
	return nil
}

func (f *Forum) Join(ctx context.Context, name, about string) error {
	return f.m.Users.Create(ctx, &User{Name: name, About: about})
}

// Mute leaves stories with these tags, and no others, out of the reader's lists.
func (f *Forum) Mute(ctx context.Context, name string, tags []string) error {
	_, err := f.m.Users.Update(ctx, name, func(u *User) error {
		u.Muted = tags
		return nil
	})
	return err
}

// Leave deletes a user. The stories and comments stay; the user's votes for others are taken back.
func (f *Forum) Leave(ctx context.Context, name string) error { return f.m.Users.Delete(ctx, name) }

// User is the page of a user, with the newest stories and comments.
func (f *Forum) User(ctx context.Context, name, of string) (*Page, error) {
	return f.page(ctx, name, func(ctx context.Context, p *Page) error {
		err := f.db.SideBySide(ctx,
			func(ctx context.Context) (err error) { p.User, err = f.m.Users.Get(ctx, of); return err },
			func(ctx context.Context) error {
				return f.addStories(ctx, name, p, f.m.Stories.NewestByAuthor.Of(of), "")
			},
			func(ctx context.Context) error {
				return f.addComments(ctx, name, p, f.m.Comments.NewestByAuthor.Of(of), "")
			},
		)
		p.Next = ""
		return err
	})
}

// Best is the page of the users with the highest karma.
func (f *Forum) Best(ctx context.Context) (ranking.Table[User, int64], error) {
	return f.m.Users.TopKarma.Table(ctx, "", Shown)
}
