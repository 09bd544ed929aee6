package web

import (
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/templates"
)

// writing limits how often a member may save a page.
var writing = guard.Limit{What: "pages", Times: 60, Per: time.Hour}

// writeForm shows the form for a new page.
func (s *Site) writeForm(v *visit, _ string) error {
	return v.showDraft(draftForm(ashiato.Draft{ID: s.app.NewID()}), nil)
}

// write creates the page that was typed.
func (s *Site) write(v *visit) error {
	id, err := v.formID()
	if err != nil {
		return err
	}
	d := v.draft()
	d.ID = id
	var page *ashiato.Page
	member, err := v.allowed(writing)
	if err == nil {
		page, err = s.app.Write(v.Context(), member, d)
	}
	if errors.Is(err, ashiato.ErrSentBefore) {
		d.ID = s.app.NewID()
	}
	if err != nil {
		return v.showDraft(draftForm(d), err)
	}
	return s.saved(v, page)
}

// saved redirects to a page that was saved, and remembers it for the ranking.
func (s *Site) saved(v *visit, page *ashiato.Page) error {
	return v.redirect(pagePath(page.Slug), v.remember(page.ID))
}

// editForm shows the form for the page whose id is in the path. The path has the id
// and not the slug, because the form can change the slug.
func (s *Site) editForm(v *visit, member string) error {
	page, err := s.own(v, member)
	if err != nil {
		return err
	}
	return v.showDraft(draftForm(draftOf(page)), nil)
}

// own returns the page whose id is in the path if the member may change it.
func (s *Site) own(v *visit, member string) (*ashiato.Page, error) {
	page, err := s.app.Own(v.Context(), member, v.PathValue("id"))
	if err == nil && !page.Live() {
		err = ashiato.ErrTrashed
	}
	return page, err
}

// edit saves what was typed, unless the page has changed since the form was shown.
func (s *Site) edit(v *visit) error {
	version, err := v.number("version")
	if err == nil {
		err = v.whole("title", "body", "topics", "slug")
	}
	if err != nil {
		return err
	}
	d := v.draft()
	d.ID, d.Version = v.PathValue("id"), version
	var page *ashiato.Page
	member, err := v.allowed(writing)
	if err == nil {
		page, err = s.app.Edit(v.Context(), member, d.ID, d)
	}
	if err != nil {
		return s.editing(v, d, err)
	}
	return s.saved(v, page)
}

// editing shows the form for an existing page with what was typed, and why err refused it.
// After a conflict it also shows the saved version. If the page is gone, it offers to
// create a new one.
func (s *Site) editing(v *visit, d ashiato.Draft, err error) error {
	conflict, _ := errors.AsType[*ashiato.EditConflict](err)
	if conflict != nil {
		d.Version = conflict.Saved.Version
	}
	page := draftForm(d)
	v.refuse(&page.Form, err)
	switch {
	case conflict != nil:
		page.Form.Notice, page.Theirs = "", theirs(conflict)
	case v.status == http.StatusNotFound || v.status == http.StatusGone:
		why := page.Form.Notice + " Your text is below. Save it to create a new page."
		d.ID, d.Version = s.app.NewID(), 0
		page = draftForm(d)
		page.Form.Notice = why
	}
	return v.showDraft(page, nil)
}

// theirs returns the notice that a page changed while its author was editing it. The
// notice shows both versions side by side.
func theirs(c *ashiato.EditConflict) *templates.Notice {
	saved := c.Saved
	theirs, mine := templates.Compare(valuesOf(draftOf(saved)), valuesOf(c.Yours))
	edit, next := number(saved.Version), number(saved.Version+1)
	return &templates.Notice{
		Title: "This page changed while you were writing",
		Words: "It was saved from another window on " + moment(saved.Edited) + ". Nothing is lost: your text is below, and the differences are marked.",
		Versions: []templates.Version{
			{Title: "Saved version (edit " + edit + ")", Pieces: theirs},
			{Title: "Your version (not saved)", Pieces: mine},
		},
		Hint: "Copy over what you want to keep, then save. Your text becomes edit " + next + ". Edit " + edit + " stays in the history.",
		Buttons: []templates.Button{
			{Text: "Save mine as edit " + next, Form: "draft"},
			{Text: "Discard mine", Quiet: true, Href: pagePath(saved.Slug)},
		},
	}
}

func draftOf(p *ashiato.Page) ashiato.Draft {
	return ashiato.Draft{ID: p.ID, Slug: p.Slug, Title: p.Title, Body: p.Body, Topics: p.Topics, Version: p.Version}
}

// draft returns what was typed into the form of a page.
func (v *visit) draft() ashiato.Draft {
	return ashiato.Draft{
		Title:  v.line("title"),
		Body:   v.text("body"),
		Topics: topicsIn(v.line("topics")),
		Slug:   v.line("slug"),
	}
}

// topicsIn returns the topics in a text that separates them by commas or spaces of any
// script, perhaps with a # before each.
func topicsIn(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return unicode.Is(unicode.Zs, r) || strings.ContainsRune("\t#,，、،", r) })
}

// draftForm returns the form for a page: an existing one if the draft has its version, or
// else a new one.
func draftForm(d ashiato.Draft) writePage {
	form := templates.Form{
		ID: "draft", Action: "/write",
		Fields: []templates.Field{
			{Name: "id", Type: "hidden", Value: d.ID},
			{Name: "title", Label: "Title", Value: d.Title, Writing: true, Required: true, Max: ashiato.MaxTitle},
			{
				Name: "body", Label: "Text", Value: d.Body, Writing: true, Required: true, Rows: 14, Max: ashiato.MaxBody,
				Hint: "Leave a blank line between paragraphs. Use ## heading, *emphasis*, > quote, and [text](address).",
			},
			{Name: "topics", Label: "Topics", Value: strings.Join(d.Topics, ", "), Max: 4 * ashiato.MaxTopics * ashiato.MaxTopic, Hint: "Up to five, separated by commas or spaces."},
			{
				Name: "slug", Label: "Address", Value: d.Slug, Max: ashiato.MaxSlug,
				Hint: "The last part of the page’s address: letters, digits, and hyphens. Leave it empty to use the title.",
			},
		},
		Buttons: []templates.Button{{Text: "Save page"}},
	}
	if d.Version > 0 {
		form.Action = editPath(d.ID)
		form.Fields[0] = templates.Field{Name: "version", Type: "hidden", Value: number(d.Version)}
		form.Buttons = append(form.Buttons,
			templates.Button{Text: "Delete page", Quiet: true, Form: "delete"},
			templates.Button{Text: "History", Quiet: true, Href: historyPath(d.ID)})
	}
	return writePage{Draft: d, Form: form}
}

func valuesOf(d ashiato.Draft) string { return templates.ValuesOf(draftForm(d).Form.Fields) }

// showDraft shows the form for a page, and why err refused it.
func (v *visit) showDraft(page writePage, err error) error {
	v.refuse(&page.Form, err)
	return v.show(frame{Title: page.Title()}, page.Body())
}
