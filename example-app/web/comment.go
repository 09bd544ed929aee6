package web

import (
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

// commenting is how often a member may comment.
var commenting = ashiato.Limit{What: "comments", Times: 60, Per: time.Hour}

// comment adds what was typed to the page with the id in the path.
func (s *Site) comment(v *visit) (answer, error) {
	if err := readForm(v); err != nil {
		return answer{}, err
	}
	form, err := v.formID()
	if err != nil {
		return answer{}, err
	}
	page, err := s.app.Models.Pages.Get(v.Context(), v.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	text := v.text("text")
	err = s.addComment(v, page.ID, form, text)
	if err != nil {
		return s.pageWith(v, page.Slug, refuse(v, err), text)
	}
	return answer{to: pagePath(page.Slug) + "#comments"}, nil
}

func (s *Site) addComment(v *visit, page, form, text string) error {
	member, err := v.signedIn()
	if err != nil {
		return err
	}
	if err := s.app.Allow(v.Context(), ashiato.Try{Limit: commenting, Who: member}); err != nil {
		return err
	}
	_, err = s.app.Comment(v.Context(), member, page, form, text)
	return err
}
