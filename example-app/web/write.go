package web

import (
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/guard"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/templates"
)

var writing = guard.Limit{What: "pages", Times: 60, Per: time.Hour}

func (s *Site) writeForm(v *visit, _ string) error {
	return v.showDraft(ashiato.Draft{ID: s.app.NewID()}, nil, nil)
}

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
		return v.showDraft(d, err, nil)
	}
	return v.redirect(pagePath(page.Slug), nil)
}

// With ?edit=, the form has the text after that edit.
func (s *Site) editForm(v *visit, member string) error {
	page, err := s.app.Own(v.Context(), member, v.PathValue("id"))
	if err == nil && !page.Live() {
		err = ashiato.ErrTrashed
	}
	if err != nil {
		return err
	}
	d := draftOf(page)
	if edit := v.FormValue("edit"); edit != "" {
		_, edits, err := s.app.History(v.Context(), member, page.ID)
		if err != nil {
			return err
		}
		for _, e := range edits {
			if number(e.Rev) == edit && e.Item != nil {
				d.Title, d.Body, d.Topics = e.Item.Title, e.Item.Body, e.Item.Topics
			}
		}
	}
	return v.showDraft(d, nil, nil)
}

func (s *Site) edit(v *visit) error {
	version, err := v.number("version")
	if err == nil {
		err = v.whole("title", "body", "topics")
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
	return v.redirect(pagePath(page.Slug), nil)
}

// If the page is gone, the form creates a new one.
func (s *Site) editing(v *visit, d ashiato.Draft, err error) error {
	if conflict, ok := errors.AsType[*ashiato.EditConflict](err); ok {
		v.status = http.StatusConflict
		d.Version = conflict.Saved.Version
		return v.showDraft(d, nil, theirs(conflict))
	}
	if errors.Is(err, kvmodel.ErrNotFound) || errors.Is(err, ashiato.ErrTrashed) {
		d.ID, d.Version = s.app.NewID(), 0
	}
	return v.showDraft(d, err, nil)
}

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
	return ashiato.Draft{ID: p.ID, Title: p.Title, Body: p.Body, Topics: p.Topics, Version: p.Version}
}

func (v *visit) draft() ashiato.Draft {
	return ashiato.Draft{Title: v.line("title"), Body: v.PostFormValue("body"), Topics: topicsIn(v.line("topics"))}
}

// topicsIn splits text at commas, spaces of any script, and #.
func topicsIn(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return unicode.Is(unicode.Zs, r) || strings.ContainsRune("\t#,，、،", r) })
}

// The form is for an existing page if the draft has its version.
func draftForm(d ashiato.Draft) templates.Form {
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
	return form
}

func valuesOf(d ashiato.Draft) string { return templates.ValuesOf(draftForm(d).Fields) }

// theirs may be nil.
func (v *visit) showDraft(d ashiato.Draft, err error, theirs *templates.Notice) error {
	form := draftForm(d)
	v.refuse(&form, err)
	title := "Write a page"
	if d.Version > 0 {
		title = "Edit page"
	}
	return v.show(frame{Title: title}, writePage(title, d, form, theirs), nil)
}
