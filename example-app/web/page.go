package web

import (
	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// page shows the page whose slug is in the path, and counts the view.
func (s *Site) page(v *visit) error { return s.showPage(v, v.PathValue("slug"), nil) }

// showPage shows a page and, if it was refused, the comment that was typed with the reason.
func (s *Site) showPage(v *visit, slug string, refused error) error {
	member, err := v.member()
	if err != nil {
		return err
	}
	reading, err := s.read(v, member, slug)
	if err != nil {
		return err
	}
	form := templates.Form{
		Action: "/comment/" + reading.ID,
		Fields: []templates.Field{
			{Name: "id", Type: "hidden", Value: s.app.NewID()},
			{Name: "text", Label: "Your comment", Value: v.text("text"), Rows: 4, Max: ashiato.MaxComment, Required: true},
		},
		Buttons: []templates.Button{{Text: "Post comment"}},
	}
	v.refuse(&form, refused)
	return v.show(pages.Frame{Title: reading.Title, Slug: reading.Slug}, pages.Page(reading, member, form, s.now()))
}

// read returns the page. It counts a view, unless the request is a prefetch, an
// embed, or for further comments.
func (s *Site) read(v *visit, member, slug string) (*ashiato.Reading, error) {
	cursor := v.FormValue("comments")
	if v.looks() && cursor == "" {
		return s.app.View(v.Context(), member, s.addressOf(v.Request), slug)
	}
	return s.app.Read(v.Context(), member, slug, cursor)
}
