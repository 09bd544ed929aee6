package pages

import (
	"slices"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/templates"
)

// shownOfEdit is how many characters the history shows of what an edit changed in a
// field.
const shownOfEdit = 200

// change is what an edit changed in a field.
type change struct {
	field string
	words templates.Changes
}

// changesOf returns what a revision changed in a page that was as in before, or words if it did
// something else. A before of nil is not kept.
func changesOf(r kvmodel.Revision[ashiato.Page], before *ashiato.Page) (changes []change, words string) {
	switch {
	case r.Item == nil:
		return nil, "This edit was too long to keep."
	case r.Rev == 1:
		return nil, "The page was written."
	case before == nil:
		return nil, "The edit before it is not kept."
	case r.Item.InTrash() && !before.InTrash():
		return nil, "The page was deleted."
	case before.InTrash() && !r.Item.InTrash():
		return nil, "The page was restored."
	}
	for _, f := range []struct{ name, before, after string }{
		{"Title", before.Title, r.Item.Title},
		{"Text", before.Body, r.Item.Body},
		{"Topics", strings.Join(before.Topics, ", "), strings.Join(r.Item.Topics, ", ")},
		{"Address", before.Slug, r.Item.Slug},
	} {
		if f.before != f.after {
			changes = append(changes, change{f.name, templates.Changed(f.before, f.after).Excerpt(shownOfEdit)})
		}
	}
	return changes, ""
}

// before returns what the page was before its revision at i, newest first.
func before(revisions []kvmodel.Revision[ashiato.Page], i int) *ashiato.Page {
	if i+1 == len(revisions) {
		return nil
	}
	return revisions[i+1].Item
}

// says reports whether two versions of a page have the same text.
func says(a, b *ashiato.Page) bool {
	return a.Title == b.Title && a.Body == b.Body && slices.Equal(a.Topics, b.Topics)
}
