package web

import (
	"errors"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

// trashed lists the pages in the member's trash. It offers to undo the deletion of the
// page that the query names.
func (s *Site) trashed(v *visit, member string) (answer, error) {
	list, err := s.app.Trashed(v.Context(), member, v.FormValue("at"))
	if err != nil {
		return answer{}, err
	}
	now := s.app.DB().Now()
	page := pages.Trash{
		Words: "Pages that you deleted, the last one first. Nobody else sees them, and they keep their comments.",
		Pager: byAge("/trash", list.Prev, list.Next),
	}
	for _, p := range list.Items {
		row := pages.Trashed{
			Title: templates.Link{Text: p.Title, Href: historyPath(p.ID)}, When: ago(now, p.Trashed), Restore: restorePath(p.ID),
		}
		if p.ID == v.FormValue("done") {
			page.Done = row
		}
		page.Rows = append(page.Rows, row)
	}
	return answer{title: "Trash", body: page.Body()}, nil
}

// trash moves the page whose id is in the path to the trash, unless the page has
// changed since the form was shown.
func (s *Site) trash(v *visit, member string) (answer, error) {
	version, err := v.version()
	if err != nil {
		return answer{}, err
	}
	id := v.PathValue("id")
	_, err = s.app.Trash(v.Context(), member, id, version)
	if conflict, ok := errors.AsType[*ashiato.EditConflict](err); ok {
		r := refuse(v, err)
		r.notice = "The page was saved from another window on " + moment(conflict.Saved.Edited) + ", so it was not deleted. The current version is below."
		return s.editing(id, draftOf(conflict.Saved), r, nil, nil), nil
	}
	if err != nil {
		return answer{}, err
	}
	return answer{to: with("/trash", "done", id)}, nil
}

// restore takes the page whose id is in the path out of the trash.
func (s *Site) restore(v *visit, member string) (answer, error) {
	page, err := s.app.Restore(v.Context(), member, v.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	return answer{to: pagePath(page.Slug)}, nil
}
