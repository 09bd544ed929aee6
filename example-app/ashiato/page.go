package ashiato

import (
	"context"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// Draft is the form for writing or editing a page.
type Draft struct {
	ID                string // of the form, from NewID; Edit ignores it
	Slug, Title, Body string
	Topics            []string
	Version           int64 // of the page when the draft was begun; Write ignores it
}

// page returns the page that d describes, by author.
func (d Draft) page(author string) *Page {
	return &Page{ID: d.ID, Slug: d.Slug, Title: d.Title, Body: lines(d.Body), Topics: d.Topics, Author: author}
}

// says reports whether p says the same as q.
func (p *Page) says(q *Page) bool {
	return p.Slug == q.Slug && p.Title == q.Title && p.Body == q.Body && slices.Equal(p.Topics, q.Topics)
}

// Write makes a page. A form that is sent twice makes one page. It returns
// ErrSentBefore, or Problems, including one with a slug that is taken.
func (s *Site) Write(ctx context.Context, who string, d Draft) (*Page, error) {
	p := d.page(who)
	p.Published = s.now()
	problems := kvmodel.ProblemsOf(p.Validate())
	problems.Add("id", formProblem(d.ID))
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if err := s.addTopics(ctx, p.Topics); err != nil {
		return nil, err
	}
	return once(ctx, s.Models.Pages.Records, p.ID, p, func(there *Page) (bool, error) {
		return there.Author == who && there.says(p), nil
	})
}

// Edit makes the page say what d says and returns it. If the page says so already,
// as after a form that is sent twice, it changes nothing. It returns Problems,
// ErrNotFound, ErrNotYours, ErrTrashed, or an *EditConflict if the page was saved
// after d was begun.
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

// Trash puts the page into the trash, if it is not there already. It returns
// ErrNotFound, ErrNotYours, or an *EditConflict if the page was saved after version,
// so that only what its author has seen goes.
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

// Restore takes the page out of the trash. It returns ErrNotFound, ErrNotYours, or
// Problems with "slug" if another page has taken its address.
func (s *Site) Restore(ctx context.Context, who, id string) (*Page, error) {
	return s.change(ctx, who, id, func(p *Page) error {
		p.Trashed = time.Time{}
		return nil
	})
}

// change lets f change the page, if who wrote it.
func (s *Site) change(ctx context.Context, who, id string, f func(*Page) error) (*Page, error) {
	p, err := s.Models.Pages.Update(ctx, id, func(p *Page) error {
		if p.Author != who {
			return ErrNotYours
		}
		return f(p)
	})
	return p, taken(err)
}

// copyOf returns a copy of p that later changes of p do not reach.
func copyOf(p *Page) *Page {
	c := *p
	c.Topics = slices.Clone(p.Topics)
	return &c
}

// Revisions returns the last n revisions of the page to its author, newest first.
// It returns ErrNotFound or ErrNotYours.
func (s *Site) Revisions(ctx context.Context, who, id string, n int) ([]kvmodel.Revision[Page], error) {
	if _, err := s.Own(ctx, who, id); err != nil {
		return nil, err
	}
	return s.Models.Pages.History.Of(ctx, id, n)
}

// Own returns the page with that id to its author, even from the trash: the forms
// to edit and to restore a page begin with it. It returns ErrNotFound or
// ErrNotYours.
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

// Reading is a page as a reader sees it.
type Reading struct {
	Entry
	Followed bool    // whether the reader follows the author
	More     []*Page // the newest other pages of the author
	Rank     int     // by all views, from 1; 0 if it is not ranked yet
	Of       int     // how many pages are ranked
	Remarks  []Remark
	Next     string // the cursor of older comments
	Prev     string // the cursor of newer ones

	// Rebuilding says that there are no Remarks, because their index has to be rebuilt
	// first. Without their indexes, More and Rank are left out.
	Rebuilding bool
}

// moreByAuthor is how many other pages of its author a page names.
const moreByAuthor = 3

// Remark is a comment with its author.
type Remark struct {
	*Comment
	By *Member // nil if they are gone
}

// View returns the page with that slug as who sees it, and counts a view of it. It
// returns ErrNotFound.
func (s *Site) View(ctx context.Context, who, slug string) (*Reading, error) {
	return s.read(ctx, who, slug, "", func(ctx context.Context, p *Page) (err error) {
		p.Views, err = s.Models.Pages.Views.Hit(ctx, p.ID)
		return err
	})
}

// Read returns the page with that slug as who sees it, with its comments from the
// cursor on. It counts no view. It returns ErrNotFound or ErrBadCursor.
func (s *Site) Read(ctx context.Context, who, slug, cursor string) (*Reading, error) {
	return s.read(ctx, who, slug, cursor, func(context.Context, *Page) error { return nil })
}

// read returns the page with that slug as who sees it. It calls also with the page
// while it reads the rest.
func (s *Site) read(ctx context.Context, who, slug, cursor string, also func(context.Context, *Page) error) (*Reading, error) {
	p, err := s.Models.Pages.BySlug.Find(ctx, slug)
	if err != nil {
		return nil, err
	}
	r := &Reading{Entry: Entry{Page: p}}
	err = s.db.SideBySide(ctx,
		func(ctx context.Context) error { return s.discuss(ctx, r, cursor) },
		func(ctx context.Context) error { return also(ctx, p) },
		func(ctx context.Context) (err error) { r.Rank, r.Of, err = s.standing(ctx, p.ID); return err },
		func(ctx context.Context) (err error) { r.Followed, err = s.follows(ctx, who, p.Author); return err },
		func(ctx context.Context) (err error) { r.More, err = s.moreBy(ctx, p); return err })
	if err != nil {
		return nil, err
	}
	return r, nil
}

// moreBy returns the newest other pages by the author of p.
func (s *Site) moreBy(ctx context.Context, p *Page) ([]*Page, error) {
	newest, err := s.Models.Pages.NewestByAuthor.Of(p.Author).Page(ctx, "", moreByAuthor+1)
	err = orRebuilding(new(bool), err)
	others := slices.DeleteFunc(newest.Items, func(other *Page) bool { return other.ID == p.ID })
	return others[:min(moreByAuthor, len(others))], err
}

// discuss fills in the comments of r, their authors and the author of the page.
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
