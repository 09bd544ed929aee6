package web

import "github.com/ringtree/ringtree/example-app/web/pages"

// history shows the edits of the page whose id is in the path to its author.
func (s *Site) history(v *visit, member string) error {
	story, err := s.app.Story(v.Context(), member, v.PathValue("id"))
	if err != nil {
		return err
	}
	return v.show(pages.Frame{Title: "History of " + story.Page.Title}, pages.History(story, s.now()))
}

// bringBack makes the page whose id is in the path say what it said after an earlier
// edit, unless it has changed since its history was shown.
func (s *Site) bringBack(v *visit, _ string) error {
	version, err := v.number("version")
	if err != nil {
		return err
	}
	edit, err := v.number("edit")
	if err != nil {
		return err
	}
	member, err := v.allowed(writing)
	if err != nil {
		return err
	}
	page, err := s.app.BringBack(v.Context(), member, v.PathValue("id"), edit, version)
	if err != nil {
		return err
	}
	return s.saved(v, page)
}
