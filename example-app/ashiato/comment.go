package ashiato

import "context"

// Comment adds a comment to the page with that id. form is of the form: NewID.
// It returns Problems of "text", ErrNotFound, ErrTrashed, or ErrSentBefore. A
// form that is sent twice makes one comment.
func (s *Site) Comment(ctx context.Context, who, page, form, text string) (*Comment, error) {
	panic("to follow")
}

// Retract removes a comment, which its author may do and the author of the page.
// ErrNotFound; ErrNotYours.
func (s *Site) Retract(ctx context.Context, who, id string) error { panic("to follow") }
