package web

import (
	"time"

	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/guard"
)

// commenting is how often a member may comment.
var commenting = guard.Limit{What: "comments", Times: 60, Per: time.Hour}

// comment adds a comment to the page whose id is in the path. If it is refused, the page
// shows what was typed, and why.
func (s *Site) comment(v *visit) error {
	form, err := v.formID()
	if err != nil {
		return err
	}
	page, err := s.app.Models.Pages.Get(v.Context(), v.PathValue("id"))
	if err != nil {
		return err
	}
	member, err := v.allowed(commenting)
	if err == nil {
		_, err = s.app.Comment(v.Context(), member, page.ID, form, v.text("text"))
	}
	if err != nil {
		return s.showPage(v, page.Slug, err)
	}
	return v.redirect(pages.PagePath(page.Slug)+"#comments", nil)
}
