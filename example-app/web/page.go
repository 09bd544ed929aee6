package web

import (
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/templates"
)

func (s *Site) page(v *visit) error { return s.showPage(v, v.PathValue("slug"), nil) }

// showPage shows a page, and a refused comment with the reason.
func (s *Site) showPage(v *visit, slug string, refused error) error {
	member, err := v.member()
	if err != nil {
		return err
	}
	cursor, from := v.FormValue("comments"), ""
	if v.looks() && cursor == "" {
		from = v.from() // Counts a view.
	}
	reading, err := s.app.View(v.Context(), member, from, slug, cursor)
	if err != nil {
		return err
	}
	form := templates.Form{
		Action: "/comment/" + reading.ID,
		Fields: []templates.Field{
			{Name: "id", Type: "hidden", Value: s.app.NewID()},
			{Name: "text", Label: "Your comment", Value: v.PostFormValue("text"), Rows: 4, Max: ashiato.MaxComment, Required: true},
		},
		Buttons: []templates.Button{{Text: "Post comment"}},
	}
	v.refuse(&form, refused)
	return v.show(frame{Title: reading.Title}, articlePage(reading, member, form, s.now()), nil)
}

var commenting = guard.Limit{What: "comments", Times: 60, Per: time.Hour}

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
		_, err = s.app.Comment(v.Context(), member, page.ID, form, v.PostFormValue("text"))
	}
	if err != nil {
		return s.showPage(v, page.Slug, err)
	}
	return v.redirect(pagePath(page.Slug)+"#comments", nil)
}
