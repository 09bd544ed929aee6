package web

import (
	"slices"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/templates"
)

// history shows the edits of the page whose id is in the path to its author.
func (s *Site) history(v *visit, member string) error {
	story, err := s.app.Story(v.Context(), member, v.PathValue("id"))
	if err != nil {
		return err
	}
	return v.show(frame{Title: "History of " + story.Page.Title}, historyPage(story, s.now()))
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

// changeOf returns what the revision at i, of those that are newest first, changed in a page, or
// words if it did something else.
func changeOf(revisions []kvmodel.Revision[ashiato.Page], i int) (templates.Changes, string) {
	r := revisions[i]
	switch {
	case r.Item == nil:
		return nil, "This edit was too long to keep."
	case r.Rev == 1:
		return nil, "The page was written."
	case i+1 == len(revisions) || revisions[i+1].Item == nil:
		return nil, "The edit before it is not kept."
	}
	switch before := revisions[i+1].Item; {
	case r.Item.InTrash() && !before.InTrash():
		return nil, "The page was deleted."
	case before.InTrash() && !r.Item.InTrash():
		return nil, "The page was restored."
	default:
		return templates.Changed(valuesOf(draftOf(before)), valuesOf(draftOf(r.Item))).Excerpt(400), ""
	}
}

// says reports whether two versions of a page have the same text.
func says(a, b *ashiato.Page) bool {
	return a.Title == b.Title && a.Body == b.Body && slices.Equal(a.Topics, b.Topics)
}

// trashed lists the pages in the member's trash.
func (s *Site) trashed(v *visit, member string) error {
	list, err := s.app.Trashed(v.Context(), member, v.FormValue("at"))
	if err != nil {
		return err
	}
	return v.show(frame{Title: "Trash"}, trashPage(list, s.now()))
}

// trash moves the page whose id is in the path to the trash, unless the page has
// changed since the form was shown.
func (s *Site) trash(v *visit, member string) error {
	version, err := v.number("version")
	if err != nil {
		return err
	}
	_, err = s.app.Trash(v.Context(), member, v.PathValue("id"), version)
	return v.redirect("/trash", err)
}

// restore takes the page whose id is in the path out of the trash.
func (s *Site) restore(v *visit, member string) error {
	page, err := s.app.Restore(v.Context(), member, v.PathValue("id"))
	if err != nil {
		return err
	}
	return v.redirect(pagePath(page.Slug), nil)
}
