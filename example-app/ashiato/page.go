package ashiato

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel"
)

// Draft is the form with which a page is written or changed.
type Draft struct {
	ID                string // of the form: NewID; where a page is changed, it is not looked at
	Slug, Title, Body string
	Topics            []string
	Version           int64 // that the page had when the draft was begun; not looked at where it is written
}

// Write makes a page. It returns Problems, of which a slug that is taken is one, or
// ErrSentBefore. A form that is sent twice makes one page.
func (s *Site) Write(ctx context.Context, who string, d Draft) (*Page, error) { panic("to follow") }

// Edit makes the page what d says and returns it. Where it says so already, as
// after a form that was sent twice, nothing changes. It returns Problems,
// ErrNotFound, ErrNotYours, ErrTrashed, or an *EditConflict if somebody has
// saved the page since.
func (s *Site) Edit(ctx context.Context, who, id string, d Draft) (*Page, error) {
	panic("to follow")
}

// Trash puts the page into the trash, where it may be already. It returns
// ErrNotFound, ErrNotYours, or an *EditConflict if somebody has saved the page
// since version: what goes is what was looked at.
func (s *Site) Trash(ctx context.Context, who, id string, version int64) (*Page, error) {
	panic("to follow")
}

// Restore takes the page out of the trash. It returns Problems of "slug" if
// another page has its address by now, ErrNotFound or ErrNotYours.
func (s *Site) Restore(ctx context.Context, who, id string) (*Page, error) { panic("to follow") }

// Revisions returns the last n bodies of the page, newest first, for whoever
// wrote it: ErrNotFound, ErrNotYours.
func (s *Site) Revisions(ctx context.Context, who, id string, n int) ([]kvmodel.Revision[Page], error) {
	panic("to follow")
}

// Own returns the page with that id for whoever wrote it, also from the trash:
// what the forms to edit and to restore begin with. ErrNotFound, ErrNotYours.
func (s *Site) Own(ctx context.Context, who, id string) (*Page, error) { panic("to follow") }

// Reading is a page as it is read.
type Reading struct {
	Entry
	Rank    int // its place by all views, from 1; 0: not ranked yet
	Of      int // of so many
	Remarks []Remark
	Next    string // the cursor of older comments
	Prev    string // of newer ones
}

// Remark is a comment with who made it; nil: they are gone.
type Remark struct {
	*Comment
	By *Member
}

// Read returns the page with that slug, with its comments from the cursor on.
// ErrNotFound; ErrBadCursor. It counts no view: see View.
func (s *Site) Read(ctx context.Context, slug, cursor string) (*Reading, error) { panic("to follow") }

// View counts one view of the page with that id and returns how many there are
// now. One trip.
func (s *Site) View(ctx context.Context, id string) (int64, error) { panic("to follow") }
