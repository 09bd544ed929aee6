package ashiato

import (
	"context"

	"github.com/ringtree/ringtree/kvmodel"
)

// Comment adds a comment, once for a form with an id from NewID. It returns Problems with "text",
// ErrNotFound, ErrTrashed, or ErrSentBefore.
func (s *Site) Comment(ctx context.Context, who, page, form, text string) (*Comment, error) {
	c := &Comment{ID: form, Page: page, Author: who, Text: lines(text), At: s.now()}
	problems := kvmodel.ProblemsOf(c.Validate())
	problems.Add("id", formProblem(form))
	if err := problems.Err(); err != nil {
		return nil, err
	}
	p, err := s.Models.Pages.Get(ctx, page)
	if err == nil && !p.Live() {
		err = ErrTrashed
	}
	if err != nil {
		return nil, err
	}
	return once(ctx, s.Models.Comments.Records, c.ID, c, func(there *Comment) bool {
		return there.Author == c.Author && there.Page == c.Page && there.Text == c.Text
	})
}
