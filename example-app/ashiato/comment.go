package ashiato

import (
	"context"
	"slices"
	"time"

	"github.com/ringtree/ringtree/kvmodel"
)

// Comment adds a comment to the page with the given id. form is the id of the
// form, from NewID: a form that is sent twice makes one comment. So does one whose
// words the member has just said, since a browser that goes back gives them a form
// with another id. It returns Problems with "text", ErrNotFound, ErrTrashed, or
// ErrSentBefore.
func (s *Site) Comment(ctx context.Context, who, page, form, text string) (*Comment, error) {
	c := &Comment{ID: form, Page: page, Author: who, Text: lines(text), At: s.now()}
	problems := kvmodel.ProblemsOf(c.Validate())
	problems.Add("id", formProblem(form))
	if err := problems.Err(); err != nil {
		return nil, err
	}
	var p *Page
	var said *Comment
	err := s.db.SideBySide(ctx,
		func(ctx context.Context) (err error) { p, err = s.Models.Pages.Get(ctx, page); return err },
		func(ctx context.Context) (err error) { said, err = s.justSaid(ctx, c); return err })
	if err != nil {
		return nil, err
	}
	if !p.Live() {
		return nil, ErrTrashed
	}
	if said != nil {
		return said, nil
	}
	return once(ctx, s.Models.Comments.Records, c.ID, c, func(there *Comment) (bool, error) {
		return there.Author == c.Author && there.Page == c.Page && there.Text == c.Text, nil
	})
}

// again is how long the words of a comment are not said again.
const again = time.Hour

// justSaid returns the comment in which the author of c has just said the same, or
// nil.
func (s *Site) justSaid(ctx context.Context, c *Comment) (*Comment, error) {
	newest, err := s.Models.Comments.NewestByPage.Of(c.Page).Page(ctx, "", pageSize)
	at := slices.IndexFunc(newest.Items, func(there *Comment) bool {
		return there.Author == c.Author && there.Text == c.Text && there.At.After(c.At.Add(-again))
	})
	if err != nil || at < 0 {
		return nil, err
	}
	return newest.Items[at], nil
}
