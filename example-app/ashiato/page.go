package ashiato

import (
	"context"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// Draft is the form with which a page is written or changed.
type Draft struct {
	ID                string // of the form: NewID; where a page is changed, it is not looked at
	Slug, Title, Body string
	Topics            []string
	Version           int64 // that the page had when the draft was begun; not looked at where it is written
}

// page returns what d says as a page of author.
func (d Draft) page(author string) *Page {
	return &Page{ID: d.ID, Slug: d.Slug, Title: d.Title, Body: lines(d.Body), Topics: d.Topics, Author: author}
}

// says reports whether p says the same as q.
func (p *Page) says(q *Page) bool {
	return p.Slug == q.Slug && p.Title == q.Title && p.Body == q.Body && slices.Equal(p.Topics, q.Topics)
}

// Write makes a page. It returns Problems, of which a slug that is taken is one, or
// ErrSentBefore. A form that is sent twice makes one page.
func (s *Site) Write(ctx context.Context, who string, d Draft) (*Page, error) {
	p := d.page(who)
	p.Published = s.now()
	problems := problemsOf(p.Validate())
	problems.check("id", formProblem(d.ID))
	if err := problems.orNil(); err != nil {
		return nil, err
	}
	if err := s.addTopics(ctx, p.Topics); err != nil {
		return nil, err
	}
	err := s.Models.Pages.Create(ctx, p)
	if usedUp(err) {
		return s.writtenBefore(ctx, p)
	}
	if err != nil {
		return nil, taken(err)
	}
	return p, nil
}

// writtenBefore returns the page that a form has made, if it says the same as p.
func (s *Site) writtenBefore(ctx context.Context, p *Page) (*Page, error) {
	there, err := s.Models.Pages.Get(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	if there.Author != p.Author || !there.says(p) {
		return nil, ErrSentBefore
	}
	return there, nil
}

// Edit makes the page what d says and returns it. Where it says so already, as
// after a form that was sent twice, nothing changes. It returns Problems,
// ErrNotFound, ErrNotYours, ErrTrashed, or an *EditConflict if somebody has
// saved the page since.
func (s *Site) Edit(ctx context.Context, who, id string, d Draft) (*Page, error) {
	next := d.page(who)
	if err := next.Validate(); err != nil {
		return nil, err
	}
	if err := s.addTopics(ctx, next.Topics); err != nil {
		return nil, err
	}
	return s.change(ctx, who, id, func(p *Page) error {
		if !p.Live() {
			return ErrTrashed
		}
		if p.says(next) {
			return nil
		}
		if p.Version != d.Version {
			return &EditConflict{Saved: copyOf(p), Yours: d}
		}
		p.Slug, p.Title, p.Body, p.Topics = next.Slug, next.Title, next.Body, next.Topics
		p.Edited = s.now()
		return nil
	})
}

// Trash puts the page into the trash, where it may be already. It returns
// ErrNotFound, ErrNotYours, or an *EditConflict if somebody has saved the page
// since version: what goes is what was looked at.
func (s *Site) Trash(ctx context.Context, who, id string, version int64) (*Page, error) {
	return s.change(ctx, who, id, func(p *Page) error {
		if !p.Live() {
			return nil
		}
		if p.Version != version {
			return &EditConflict{Saved: copyOf(p), Yours: Draft{Version: version}}
		}
		p.Trashed = s.now()
		return nil
	})
}

// Restore takes the page out of the trash. It returns Problems of "slug" if
// another page has its address by now, ErrNotFound or ErrNotYours.
func (s *Site) Restore(ctx context.Context, who, id string) (*Page, error) {
	return s.change(ctx, who, id, func(p *Page) error {
		p.Trashed = time.Time{}
		return nil
	})
}

// change changes the page by f for whoever wrote it.
func (s *Site) change(ctx context.Context, who, id string, f func(*Page) error) (*Page, error) {
	p, err := s.Models.Pages.Update(ctx, id, func(p *Page) error {
		if p.Author != who {
			return ErrNotYours
		}
		return f(p)
	})
	return p, taken(err)
}

// copyOf returns a copy of p that keeps what p is now.
func copyOf(p *Page) *Page {
	c := *p
	c.Topics = slices.Clone(p.Topics)
	return &c
}

// Revisions returns the last n bodies of the page, newest first, for whoever
// wrote it: ErrNotFound, ErrNotYours.
func (s *Site) Revisions(ctx context.Context, who, id string, n int) ([]kvmodel.Revision[Page], error) {
	if _, err := s.Own(ctx, who, id); err != nil {
		return nil, err
	}
	return s.Models.Pages.History.Of(ctx, id, n)
}

// Own returns the page with that id for whoever wrote it, also from the trash:
// what the forms to edit and to restore begin with. ErrNotFound, ErrNotYours.
func (s *Site) Own(ctx context.Context, who, id string) (*Page, error) {
	p, err := s.Models.Pages.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if p.Author != who {
		return nil, ErrNotYours
	}
	return p, nil
}

// Reading is a page as somebody reads it.
type Reading struct {
	Entry
	Followed bool    // its author, by who reads
	More     []*Page // the newest of the author, without this one
	Rank     int     // its place by all views, from 1; 0: not ranked yet
	Of       int     // of so many
	Remarks  []Remark
	Next     string // the cursor of older comments
	Prev     string // of newer ones
}

// moreByAuthor is how many other pages of its author a page names.
const moreByAuthor = 3

// Remark is a comment with who made it; nil: they are gone.
type Remark struct {
	*Comment
	By *Member
}

// View returns the page with that slug as who reads it, and counts a view of it.
// ErrNotFound.
func (s *Site) View(ctx context.Context, who, slug string) (*Reading, error) {
	return s.read(ctx, who, slug, "", func(ctx context.Context, p *Page) (err error) {
		p.Views, err = s.Models.Pages.Views.Hit(ctx, p.ID)
		return err
	})
}

// Read returns the page with that slug as who reads it, with its comments from the
// cursor on, and counts no view. ErrNotFound; ErrBadCursor.
func (s *Site) Read(ctx context.Context, who, slug, cursor string) (*Reading, error) {
	return s.read(ctx, who, slug, cursor, func(context.Context, *Page) error { return nil })
}

// read returns the page with that slug as who reads it, and does besides what the
// page is found for.
func (s *Site) read(ctx context.Context, who, slug, cursor string, besides func(context.Context, *Page) error) (*Reading, error) {
	p, err := s.Models.Pages.BySlug.Find(ctx, slug)
	if err != nil {
		return nil, err
	}
	r := &Reading{Entry: Entry{Page: p}}
	err = s.db.SideBySide(ctx,
		func(ctx context.Context) error { return s.discuss(ctx, r, cursor) },
		func(ctx context.Context) error { return besides(ctx, p) },
		func(ctx context.Context) (err error) { r.Rank, r.Of, err = s.standing(ctx, p.ID); return err },
		func(ctx context.Context) (err error) { r.Followed, err = s.follows(ctx, who, p.Author); return err },
		func(ctx context.Context) (err error) { r.More, err = s.moreBy(ctx, p); return err })
	if err != nil {
		return nil, err
	}
	return r, nil
}

// moreBy returns a few of the newest pages by the author of p.
func (s *Site) moreBy(ctx context.Context, p *Page) ([]*Page, error) {
	newest, err := s.Models.Pages.NewestByAuthor.Of(p.Author).Page(ctx, "", moreByAuthor+1)
	others := slices.DeleteFunc(newest.Items, func(other *Page) bool { return other.ID == p.ID })
	return others[:min(moreByAuthor, len(others))], err
}

// discuss fills in the comments of r, and who wrote them and the page.
func (s *Site) discuss(ctx context.Context, r *Reading, cursor string) error {
	comments, err := s.Models.Comments.NewestByPage.Of(r.ID).Page(ctx, cursor, pageSize)
	if err != nil {
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
