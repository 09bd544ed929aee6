package ashiato

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// Draft is the form for writing or editing a page.
type Draft struct {
	ID          string // of the form, from NewID; Edit ignores it
	Title, Body string
	Topics      []string
	Version     int64 // of the page at the start of the draft; Write ignores it
}

func (d Draft) fill(p *Page) {
	p.Title, p.Body, p.Topics = d.Title, lines(d.Body), topicsOf(d.Topics)
}

func (p *Page) says(q *Page) bool {
	return p.Title == q.Title && p.Body == q.Body && slices.Equal(p.Topics, q.Topics)
}

// Write creates a page, once for a form. It returns ErrSentBefore or Problems.
func (s *Site) Write(ctx context.Context, who string, d Draft) (*Page, error) {
	p := &Page{ID: cmp.Or(d.ID, s.NewID()), Author: who, Published: s.now()}
	d.fill(p)
	problems := kvmodel.ProblemsOf(p.Validate())
	problems.Add("id", formProblem(d.ID))
	if err := problems.Err(); err != nil {
		return nil, err
	}
	written, err := atFree(p, func(slug string) (*Page, error) {
		next := *p
		next.Slug = slug
		return once(ctx, s.Models.Pages.Records, p.ID, &next, func(there *Page) bool { return there.Author == who && there.says(p) })
	})
	return s.withTopics(ctx, written, err)
}

func atFree(p *Page, try func(slug string) (*Page, error)) (done *Page, err error) {
	for _, slug := range slugsFor(p.Title, p.ID) {
		done, err = try(slug)
		if _, ok := errors.AsType[*kvmodel.TakenError](err); !ok {
			break
		}
	}
	return done, err
}

// After a failure of withTopics, the form can be sent again.
func (s *Site) withTopics(ctx context.Context, p *Page, err error) (*Page, error) {
	if err == nil {
		err = s.addTopics(ctx, p.Topics)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Edit saves d, unless nothing differs. It returns Problems, ErrNotFound, ErrNotYours, ErrTrashed,
// or an *EditConflict.
func (s *Site) Edit(ctx context.Context, who, id string, d Draft) (*Page, error) {
	d.Body = lines(d.Body)
	edited, err := s.change(ctx, who, id, func(p *Page) error {
		next := *p
		d.fill(&next)
		switch {
		case !p.Live():
			return ErrTrashed
		case p.says(&next):
			return nil
		case p.Version != d.Version:
			return &EditConflict{Saved: p, Yours: d}
		}
		d.fill(p)
		p.Edited = s.now()
		return nil
	})
	return s.withTopics(ctx, edited, err)
}

// Trash moves a page to the trash. It returns ErrNotFound, ErrNotYours, or an *EditConflict if the
// author has not seen the last change.
func (s *Site) Trash(ctx context.Context, who, id string, version int64) (*Page, error) {
	return s.change(ctx, who, id, func(p *Page) error {
		if !p.Live() {
			return nil
		}
		if p.Version != version {
			return &EditConflict{Saved: p, Yours: Draft{Version: version}}
		}
		p.Trashed = s.now()
		return nil
	})
}

// Restore takes a page out of the trash. If its slug is taken, the page gets another. It returns
// ErrNotFound or ErrNotYours.
func (s *Site) Restore(ctx context.Context, who, id string) (*Page, error) {
	p, err := s.Own(ctx, who, id)
	if err != nil {
		return nil, err
	}
	return atFree(p, func(slug string) (*Page, error) {
		return s.change(ctx, who, id, func(p *Page) error {
			if p.InTrash() {
				p.Slug, p.Trashed = slug, time.Time{}
			}
			return nil
		})
	})
}

// Trashed returns the member's pages in the trash, the latest first. It returns ErrBadCursor.
func (s *Site) Trashed(ctx context.Context, who, cursor string) (Listing, error) {
	page, err := s.Models.Pages.TrashByAuthor.Of(who).Page(ctx, cursor, pageSize)
	return listingBy(page, nil), err
}

// change is for the page's author.
func (s *Site) change(ctx context.Context, who, id string, f func(*Page) error) (*Page, error) {
	return s.Models.Pages.Update(ctx, id, func(p *Page) error {
		if p.Author != who {
			return ErrNotYours
		}
		return f(p)
	})
}

const keptRevisions = 20

// History returns a page and its revisions to its author, newest first. It returns ErrNotFound or
// ErrNotYours.
func (s *Site) History(ctx context.Context, who, id string) (*Page, []kvmodel.Revision[Page], error) {
	p, err := s.Own(ctx, who, id)
	if err != nil {
		return nil, nil, err
	}
	revisions, err := s.Models.Pages.History.Of(ctx, id, keptRevisions)
	return p, revisions, err
}

// Own returns a page to its author, even from the trash, ErrNotFound or ErrNotYours.
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
