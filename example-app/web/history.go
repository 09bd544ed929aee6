package web

import (
	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/templates"
)

func (s *Site) history(v *visit, member string) error {
	page, edits, err := s.app.History(v.Context(), member, v.PathValue("id"))
	if err != nil {
		return err
	}
	return v.show(frame{Title: "History of " + page.Title}, historyPage(page, edits, s.now()), nil)
}

// edits are newest first.
func changeOf(edits []kvmodel.Revision[ashiato.Page], i int) (templates.Changes, string) {
	switch {
	case edits[i].Item == nil:
		return nil, "This edit was too long to keep."
	case edits[i].Rev == 1:
		return nil, "The page was written."
	case i+1 == len(edits) || edits[i+1].Item == nil:
		return nil, "The edit before it is not kept."
	}
	before, after := valuesOf(draftOf(edits[i+1].Item)), valuesOf(draftOf(edits[i].Item))
	if before == after {
		return nil, "The page was deleted or restored."
	}
	return templates.Changed(before, after).Excerpt(400), ""
}

func (s *Site) trashed(v *visit, member string) error {
	list, err := s.app.Trashed(v.Context(), member, v.FormValue("at"))
	return v.show(frame{Title: "Trash"}, trashPage(list, s.now()), err)
}

func (s *Site) trash(v *visit, member string) error {
	version, err := v.number("version")
	if err != nil {
		return err
	}
	_, err = s.app.Trash(v.Context(), member, v.PathValue("id"), version)
	return v.redirect("/trash", err)
}

func (s *Site) restore(v *visit, member string) error {
	page, err := s.app.Restore(v.Context(), member, v.PathValue("id"))
	if err != nil {
		return err
	}
	return v.redirect(pagePath(page.Slug), nil)
}
