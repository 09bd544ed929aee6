package ashiato

import (
	"fmt"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// Edit makes p what d says. Where p says so already, as after a form that was
// sent twice, it changes nothing. Otherwise it returns ErrTrashed, or
// ErrConflict if p has changed since the draft's version.
func (p *Page) Edit(d Draft) error {
	if !p.Live() {
		return ErrTrashed
	}
	if p.Slug == d.Slug && p.Title == d.Title && p.Body == d.Body {
		return nil
	}
	if err := p.at(d.Version); err != nil {
		return err
	}
	p.Slug, p.Title, p.Body = d.Slug, d.Title, d.Body
	return nil
}

// Trash puts p into the trash, where it may be already. It returns ErrConflict
// if p has changed since version: what goes is what was looked at.
func (p *Page) Trash(version int64, now time.Time) error {
	if !p.Live() {
		return nil
	}
	if err := p.at(version); err != nil {
		return err
	}
	p.Trashed = now
	return nil
}

func (p *Page) at(version int64) error {
	if p.Version != version {
		return fmt.Errorf("%w: it is at version %d, not %d", kvmodel.ErrConflict, p.Version, version)
	}
	return nil
}

// page returns what d says as a page of author.
func (d Draft) page(author string) *Page {
	return &Page{ID: d.ID, Slug: d.Slug, Title: d.Title, Body: lines(d.Body), Topics: d.Topics, Author: author}
}

// says tells whether p says what q does.
func (p *Page) says(q *Page) bool {
	return p.Slug == q.Slug && p.Title == q.Title && p.Body == q.Body && slices.Equal(p.Topics, q.Topics)
}
