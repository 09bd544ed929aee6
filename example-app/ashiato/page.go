package ashiato

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// Draft is the form for writing or editing a page.
type Draft struct {
	ID          string // of the form, from NewID; Edit ignores it
	Slug        string // if empty, the page gets one that is free, made from its title
	Title, Body string
	Topics      []string
	Version     int64 // of the page when the draft was begun; Write ignores it
}

// page returns the page with an id that d describes, by author.
func (d Draft) page(id, author string) *Page {
	return &Page{ID: id, Slug: d.slugs(id)[0], Title: d.Title, Body: lines(d.Body), Topics: topicsOf(d.Topics), Author: author}
}

// slugs returns the slugs that the page with an id may get, the best first.
func (d Draft) slugs(id string) []string {
	if slug := normal(d.Slug); slug != "" {
		return []string{slug}
	}
	return slugsFrom(slugOf(d.Title), id)
}

// atFree calls try with one slug after another, until one is not taken.
func atFree(slugs []string, try func(slug string) (*Page, error)) (p *Page, err error) {
	for _, slug := range slugs {
		p, err = try(slug)
		if _, ok := errors.AsType[*kvmodel.TakenError](err); !ok {
			return p, err
		}
	}
	return nil, taken(err)
}

// says reports whether p says the same as q.
func (p *Page) says(q *Page) bool {
	return p.Slug == q.Slug && p.Title == q.Title && p.Body == q.Body && slices.Equal(p.Topics, q.Topics)
}

// Write makes a page. A form that is sent twice makes one page. It returns
// ErrSentBefore, or Problems, including one with a slug that is taken.
func (s *Site) Write(ctx context.Context, who string, d Draft) (*Page, error) {
	p := d.page(cmp.Or(d.ID, s.NewID()), who)
	p.Published = s.now()
	problems := kvmodel.ProblemsOf(p.Validate())
	problems.Add("id", formProblem(d.ID))
	if err := problems.Err(); err != nil {
		return nil, err
	}
	slugs := d.slugs(p.ID)
	written, err := atFree(slugs, func(slug string) (*Page, error) { return s.publish(ctx, p, slug, slugs) })
	return s.withTopics(ctx, written, err)
}

// publish creates p with a slug. If its author has sent it before, with any of the
// slugs, publish returns the page that it became then.
func (s *Site) publish(ctx context.Context, p *Page, slug string, slugs []string) (*Page, error) {
	same := func(there *Page) bool {
		return there.Author == p.Author && slices.Contains(slugs, there.Slug) && there.says(p.at(there.Slug))
	}
	published, err := once(ctx, s.Models.Pages.Records, p.ID, p.at(slug), same)
	held, ok := errors.AsType[*kvmodel.TakenError](err)
	if !ok {
		return published, err
	}
	there, failed := s.Models.Pages.Get(ctx, held.ID)
	switch {
	case failed == nil && same(there):
		return there, nil
	case unlessGone(failed) != nil:
		return nil, failed
	}
	return nil, err
}

// at returns a copy of p with a slug.
func (p *Page) at(slug string) *Page {
	c := copyOf(p)
	c.Slug = slug
	return c
}

// withTopics returns p after it has made those of its topics that do not exist yet,
// unless err says that p was not saved. If that fails, the form can be sent again.
func (s *Site) withTopics(ctx context.Context, p *Page, err error) (*Page, error) {
	if err == nil {
		err = s.addTopics(ctx, p.Topics)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Edit makes the page say what d says and returns it. If the page says so already,
// as after a form that is sent twice, it changes nothing. It returns Problems,
// ErrNotFound, ErrNotYours, ErrTrashed, or an *EditConflict if the page was saved
// after d was begun.
func (s *Site) Edit(ctx context.Context, who, id string, d Draft) (*Page, error) {
	next := d.page(id, who)
	if err := next.Validate(); err != nil {
		return nil, err
	}
	slugs := d.slugs(id)
	edited, err := atFree(slugs, func(slug string) (*Page, error) {
		return s.change(ctx, who, id, func(p *Page) error {
			if slices.Contains(slugs, p.Slug) {
				slug = p.Slug
			}
			return s.edit(p, next.at(slug), d)
		})
	})
	return s.withTopics(ctx, edited, err)
}

// edit makes p say what next does, which d describes.
func (s *Site) edit(p, next *Page, d Draft) error {
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
}

// BringBack makes the page say what its revision with that number says. Its slug
// stays, since others may have linked to it. It returns the errors of Edit, for which
// version is that of the page when its author looked at the revisions.
func (s *Site) BringBack(ctx context.Context, who, id string, number, version int64) (*Page, error) {
	story, err := s.Story(ctx, who, id)
	if err != nil {
		return nil, err
	}
	for _, r := range story.Revisions {
		if r.Rev == number && r.Item != nil {
			return s.Edit(ctx, who, id, Draft{Slug: story.Page.Slug, Title: r.Item.Title, Body: r.Item.Body, Topics: r.Item.Topics, Version: version})
		}
	}
	return nil, fmt.Errorf("%w: revision %d", kvmodel.ErrNotFound, number)
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

// Restore takes the page out of the trash, if it is there. If another page has taken
// its slug, it gets one with a number. It returns ErrNotFound or ErrNotYours.
func (s *Site) Restore(ctx context.Context, who, id string) (*Page, error) {
	p, err := s.Own(ctx, who, id)
	if err != nil {
		return nil, err
	}
	return atFree(slugsFrom(p.Slug, id), func(slug string) (*Page, error) {
		return s.change(ctx, who, id, func(p *Page) error {
			if p.InTrash() {
				p.Slug, p.Trashed = slug, time.Time{}
			}
			return nil
		})
	})
}

// Trashed returns the pages that who has put into the trash, the last first, from
// the cursor on. It returns ErrBadCursor.
func (s *Site) Trashed(ctx context.Context, who, cursor string) (kvmodel.Listing[Page], error) {
	return s.Models.Pages.TrashByAuthor.Of(who).Page(ctx, cursor, pageSize)
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

// copyOf returns a copy of p that later changes of p do not reach.
func copyOf(p *Page) *Page {
	c := *p
	c.Topics = slices.Clone(p.Topics)
	return &c
}

// keptRevisions is how many revisions of a page there are at most.
const keptRevisions = 20

// Story is a page with its revisions.
type Story struct {
	Page      *Page
	Revisions []kvmodel.Revision[Page] // newest first, as many as Page keeps
}

// Story returns the page and its revisions to its author, even from the trash. It
// returns ErrNotFound or ErrNotYours.
func (s *Site) Story(ctx context.Context, who, id string) (*Story, error) {
	p, err := s.Own(ctx, who, id)
	if err != nil {
		return nil, err
	}
	revisions, err := s.Models.Pages.History.Of(ctx, id, keptRevisions)
	if err != nil {
		return nil, err
	}
	return &Story{p, revisions}, nil
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
	Followed bool // whether the reader follows the author
	Liked    bool // whether the reader likes the page
	Rank     int  // by all views, from 1; 0 if it is not ranked yet
	Of       int  // how many pages are ranked
	Remarks  []Remark
	Next     string // the cursor of older comments
	Prev     string // the cursor of newer ones

	// Rebuilding says that there are no Remarks, because their index has to be rebuilt
	// first. Without its index, Rank is left out.
	Rebuilding bool
}

// Remark is a comment with its author.
type Remark struct {
	*Comment
	By *Member // nil if they are gone
}

// viewTime is how long further views of a page by the same visitor are none.
const viewTime = time.Hour

// View returns the page with that slug as who sees it, and counts a view of it, unless
// they have viewed it within the last hour. A guest, for whom who is "", is known by
// the address that they come from. It returns ErrNotFound.
func (s *Site) View(ctx context.Context, who, from, slug string) (*Reading, error) {
	visitor := cmp.Or(who, from)
	return s.read(ctx, who, slug, "", func(ctx context.Context, p *Page) error {
		err := s.Models.Views.Create(ctx, &View{Page: p.ID, Visitor: visitor, Until: s.now().Add(viewTime)})
		if errors.Is(err, kvmodel.ErrExists) {
			return nil
		}
		if err == nil {
			p.Views, err = s.Models.Pages.Views.Hit(ctx, p.ID)
		}
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
	p, err := s.Models.Pages.BySlug.Find(ctx, normal(slug))
	if err != nil {
		return nil, err
	}
	r := &Reading{Entry: Entry{Page: p}}
	err = s.db.SideBySide(ctx,
		func(ctx context.Context) error { return s.discuss(ctx, r, cursor) },
		func(ctx context.Context) error { return also(ctx, p) },
		func(ctx context.Context) (err error) { r.Rank, r.Of, err = s.standing(ctx, p.ID); return err },
		func(ctx context.Context) (err error) { r.Followed, err = s.follows(ctx, who, p.Author); return err },
		func(ctx context.Context) (err error) { r.Liked, err = s.likes(ctx, who, p.ID); return err })
	if err != nil {
		return nil, err
	}
	return r, nil
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
