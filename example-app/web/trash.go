package web

import (
	"errors"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
)

// trashed lists the pages in the member's trash. It offers to undo the deletion of the
// page that the query names.
func (s *Site) trashed(v *visit, member string) error {
	list, err := s.app.Trashed(v.Context(), member, v.FormValue("at"))
	if err != nil {
		return err
	}
	return v.show(pages.Frame{Title: "Trash"}, pages.Trash(list, v.FormValue("done"), s.now()))
}

// trash moves the page whose id is in the path to the trash, unless the page has
// changed since the form was shown.
func (s *Site) trash(v *visit, member string) error {
	version, err := v.number("version")
	if err != nil {
		return err
	}
	id := v.PathValue("id")
	_, err = s.app.Trash(v.Context(), member, id, version)
	if conflict, ok := errors.AsType[*ashiato.EditConflict](err); ok {
		page := draftForm(draftOf(conflict.Saved))
		v.refuse(&page.Form, err)
		page.Form.Notice = "The page was saved from another window on " + pages.Moment(conflict.Saved.Edited) + ", so it was not deleted. The current version is below."
		return v.showDraft(page, nil)
	}
	return v.redirect(pages.With("/trash", "done", id), err)
}

// restore takes the page whose id is in the path out of the trash.
func (s *Site) restore(v *visit, member string) error {
	page, err := s.app.Restore(v.Context(), member, v.PathValue("id"))
	if err != nil {
		return err
	}
	return v.redirect(pages.PagePath(page.Slug), nil)
}
