package web

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/templates"
)

// shownOfEdit is how many characters the history shows of what an edit changed in a
// field.
const shownOfEdit = 200

// history shows the edits of the page whose id is in the path to its author.
func (s *Site) history(v *visit, member string) (answer, error) {
	story, err := s.app.Story(v.Context(), member, v.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	p := story.Page
	page := pages.History{Title: p.Title, Action: historyPath(p.ID), Version: versionText(p.Version)}
	if p.InTrash() {
		page.Restore = restorePath(p.ID)
	} else {
		page.Back = pagePath(p.Slug)
	}
	for i, r := range story.Revisions {
		edit := editOf(r, story.Revisions[i+1:])
		edit.When = ago(s.app.DB().Now(), r.At)
		edit.Back = p.Live() && r.Item != nil && !says(r.Item, p)
		page.Edits = append(page.Edits, edit)
	}
	return answer{title: "History of " + p.Title, body: page.Body()}, nil
}

// editOf returns what revision r changed; older are those before it, newest first.
func editOf(r kvmodel.Revision[ashiato.Page], older []kvmodel.Revision[ashiato.Page]) pages.Edit {
	edit := pages.Edit{Number: versionText(r.Rev)}
	switch {
	case r.Item == nil:
		edit.Words = "This edit was too long to keep."
	case r.Rev == 1:
		edit.Words = "The page was written."
	case len(older) == 0 || older[0].Item == nil:
		edit.Words = "The edit before it is not kept."
	case r.Item.InTrash() && !older[0].Item.InTrash():
		edit.Words = "The page was deleted."
	case older[0].Item.InTrash() && !r.Item.InTrash():
		edit.Words = "The page was restored."
	default:
		edit.Fields = changedFields(older[0].Item, r.Item)
	}
	return edit
}

// changedFields returns the fields that differ, with what has changed.
func changedFields(before, after *ashiato.Page) []pages.Field {
	var all []pages.Field
	for _, f := range []struct{ name, before, after string }{
		{"Title", before.Title, after.Title},
		{"Text", before.Body, after.Body},
		{"Topics", strings.Join(before.Topics, ", "), strings.Join(after.Topics, ", ")},
		{"Address", before.Slug, after.Slug},
	} {
		if f.before != f.after {
			all = append(all, pages.Field{Name: f.name, Changes: templates.Changed(f.before, f.after).Excerpt(shownOfEdit)})
		}
	}
	return all
}

// says reports whether two versions of a page have the same text.
func says(a, b *ashiato.Page) bool {
	return a.Title == b.Title && a.Body == b.Body && slices.Equal(a.Topics, b.Topics)
}

// bringBack makes the page whose id is in the path say what it said after an earlier
// edit, unless it has changed since its history was shown.
func (s *Site) bringBack(v *visit, member string) (answer, error) {
	version, err := v.version()
	if err != nil {
		return answer{}, err
	}
	edit, err := strconv.ParseInt(v.PostFormValue("edit"), 10, 64)
	if err != nil {
		return answer{}, errBadForm
	}
	page, err := s.save(v, func(member string) (*ashiato.Page, error) {
		return s.app.BringBack(v.Context(), member, v.PathValue("id"), edit, version)
	})
	if err != nil {
		return answer{}, err
	}
	return s.saved(v, page)
}
