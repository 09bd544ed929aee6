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
	Version     int64 // of the page when the draft was begun; Write ignores it
}

// fill makes p say what d says.
func (d Draft) fill(p *Page) {
	p.Title, p.Body, p.Topics = d.Title, lines(d.Body), topicsOf(d.Topics)
}

// says reports whether p says the same as q.
func (p *Page) says(q *Page) bool {
	return p.Title == q.Title && p.Body == q.Body && slices.Equal(p.Topics, q.Topics)
}

// Write makes a page. Its address is made of its title, and stays when that changes. A form that is
// sent twice makes one page. It returns ErrSentBefore or Problems.
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

// atFree calls try with the slugs that p may have, until one is not taken.
func atFree(p *Page, try func(slug string) (*Page, error)) (done *Page, err error) {
	for _, slug := range slugsFor(p.Title, p.ID) {
		done, err = try(slug)
		if _, ok := errors.AsType[*kvmodel.TakenError](err); !ok {
			break
		}
	}
	return done, err
}

// withTopics returns p after it has made those of its topics that do not exist yet, unless err says
// that p was not saved. If that fails, the form can be sent again.
func (s *Site) withTopics(ctx context.Context, p *Page, err error) (*Page, error) {
	if err == nil {
		err = s.addTopics(ctx, p.Topics)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Edit makes the page say what d says and returns it. If the page says so already, as after a form
// that is sent twice, it changes nothing. It returns Problems, ErrNotFound, ErrNotYours,
// ErrTrashed, or an *EditConflict if the page was saved after d was begun.
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

// Trash puts the page into the trash, if it is not there already. It returns ErrNotFound,
// ErrNotYours, or an *EditConflict if the page was saved after version, so that only what its
// author has seen goes.
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

// Restore takes the page out of the trash, if it is there. If another page has taken its slug, it
// gets one with a part of its id. It returns ErrNotFound or ErrNotYours.
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

// Trashed returns the pages that who has put into the trash, the last first, from the cursor on. It
// returns ErrBadCursor.
func (s *Site) Trashed(ctx context.Context, who, cursor string) (Listing, error) {
	page, err := s.Models.Pages.TrashByAuthor.Of(who).Page(ctx, cursor, pageSize)
	return listingBy(page, nil), err
}

// change lets f change the page, if who wrote it.
func (s *Site) change(ctx context.Context, who, id string, f func(*Page) error) (*Page, error) {
	return s.Models.Pages.Update(ctx, id, func(p *Page) error {
		if p.Author != who {
			return ErrNotYours
		}
		return f(p)
	})
}

// keptRevisions is how many revisions of a page there are at most.
const keptRevisions = 20

// History returns the page and its revisions, newest first, to its author, even from the trash. It
// returns ErrNotFound or ErrNotYours.
func (s *Site) History(ctx context.Context, who, id string) (*Page, []kvmodel.Revision[Page], error) {
	p, err := s.Own(ctx, who, id)
	if err != nil {
		return nil, nil, err
	}
	revisions, err := s.Models.Pages.History.Of(ctx, id, keptRevisions)
	return p, revisions, err
}

// Own returns the page with that id to its author, even from the trash. It returns ErrNotFound or
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
