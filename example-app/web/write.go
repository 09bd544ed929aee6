package web

import (
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

const (
	writeTitle = "Write a page"
	editTitle  = "Edit page"
)

// writing limits how often a member may save a page.
var writing = ashiato.Limit{What: "pages", Times: 60, Per: time.Hour}

// writeForm shows the form for a new page.
func (s *Site) writeForm(*visit, string) (answer, error) {
	return s.draft(ashiato.Draft{ID: s.app.NewID()}, refused{}, nil), nil
}

// draft shows the form for a new page with what was typed.
func (s *Site) draft(d ashiato.Draft, r refused, preview *pages.Preview) answer {
	page := pages.Write{
		Heading: writeTitle, Action: "/write", ID: d.ID,
		Notice: r.notice, Fields: draftFields(d, r.problems), Preview: preview,
	}
	return answer{status: r.status, title: writeTitle, here: "/write", body: page.Body()}
}

// draftFields returns the fields of a page's form.
func draftFields(d ashiato.Draft, wrong ashiato.Problems) []templates.Field {
	return templates.Explain(wrong, []templates.Field{
		{Name: "title", Label: "Title", Value: d.Title, Writing: true, Required: true, Max: ashiato.MaxTitle},
		{
			Name: "body", Label: "Text", Value: d.Body, Writing: true, Required: true, Rows: 14, Max: ashiato.MaxBody,
			Hint: "Leave a blank line between paragraphs. Use ## heading, *emphasis*, > quote, and [text](address).",
		},
		{Name: "topics", Label: "Topics", Value: strings.Join(d.Topics, ", "), Hint: "Up to five, separated by commas or spaces."},
		{
			Name: "slug", Label: "Address", Value: d.Slug, Max: ashiato.MaxSlug,
			Hint: "The last part of the page’s address: letters, digits, and hyphens. Leave it empty to use the title.",
		},
	})
}

// readDraft returns what was typed into the form of a page.
func readDraft(v *visit) ashiato.Draft {
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

// previewOf returns a preview of d if the visitor asked for one, and nil otherwise.
func previewOf(v *visit, d ashiato.Draft) *pages.Preview {
	if v.PostFormValue("do") != "preview" {
		return nil
	}
	return &pages.Preview{Title: d.Title, Text: d.Body, Topics: linksTo(d.Topics)}
}

// write creates the page that was typed.
func (s *Site) write(v *visit) (answer, error) {
	id, err := v.formID()
	if err != nil {
		return answer{}, err
	}
	d := readDraft(v)
	d.ID = id
	if preview := previewOf(v, d); preview != nil {
		return s.draft(d, refused{}, preview), nil
	}
	page, err := s.save(v, func(member string) (*ashiato.Page, error) { return s.app.Write(v.Context(), member, d) })
	if err != nil {
		r := refuse(v, err)
		if errors.Is(err, ashiato.ErrSentBefore) {
			d.ID = s.app.NewID()
		}
		return s.draft(d, r, nil), nil
	}
	return s.saved(v, page)
}

// save calls save for the member who is logged in, as often as writing allows.
func (s *Site) save(v *visit, save func(member string) (*ashiato.Page, error)) (*ashiato.Page, error) {
	member, err := v.signedIn()
	if err != nil {
		return nil, err
	}
	if err := s.app.Allow(v.Context(), ashiato.Try{Limit: writing, Who: member}); err != nil {
		return nil, err
	}
	return save(member)
}

// saved redirects to a page that was saved, and remembers it for the ranking.
func (s *Site) saved(v *visit, page *ashiato.Page) (answer, error) {
	if err := v.remember(page.ID); err != nil {
		return answer{}, err
	}
	return answer{to: pagePath(page.Slug)}, nil
}

// editForm shows the form for the page whose id is in the path. The path has the id
// and not the slug, because the form can change the slug.
func (s *Site) editForm(v *visit, _ string) (answer, error) {
	page, err := s.own(v, v.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	return s.editing(page.ID, draftOf(page), refused{}, nil, nil), nil
}

// own returns the page with the id if the member may change it.
func (s *Site) own(v *visit, id string) (*ashiato.Page, error) {
	member, err := v.signedIn()
	if err != nil {
		return nil, err
	}
	page, err := s.app.Own(v.Context(), member, id)
	if err == nil && !page.Live() {
		err = ashiato.ErrTrashed
	}
	return page, err
}

func draftOf(p *ashiato.Page) ashiato.Draft {
	return ashiato.Draft{ID: p.ID, Slug: p.Slug, Title: p.Title, Body: p.Body, Topics: p.Topics, Version: p.Version}
}

// edit saves what was typed, unless the page has changed since the form was shown.
func (s *Site) edit(v *visit) (answer, error) {
	version, err := v.version()
	if err != nil {
		return answer{}, err
	}
	id := v.PathValue("id")
	d := readDraft(v)
	d.Version = version
	if preview := previewOf(v, d); preview != nil {
		if _, err := s.own(v, id); err != nil {
			return s.notChanged(v, id, d, err), nil
		}
		return s.editing(id, d, refused{}, nil, preview), nil
	}
	page, err := s.save(v, func(member string) (*ashiato.Page, error) { return s.app.Edit(v.Context(), member, id, d) })
	if err != nil {
		return s.notChanged(v, id, d, err), nil
	}
	return s.saved(v, page)
}

// notChanged shows again what was typed, with the reason why it was not saved. After a
// conflict it also shows the saved version. If the page is gone, it offers to create
// a new one.
func (s *Site) notChanged(v *visit, id string, d ashiato.Draft, err error) answer {
	if conflict, ok := errors.AsType[*ashiato.EditConflict](err); ok {
		d.Version = conflict.Saved.Version
		return s.editing(id, d, refused{status: report(v, err).status}, theirs(conflict), nil)
	}
	r := refuse(v, err)
	if r.status == http.StatusNotFound || r.status == http.StatusGone {
		d.ID = s.app.NewID()
		r.notice += " Your text is below. Save it to create a new page."
		return s.draft(d, r, nil)
	}
	return s.editing(id, d, r, nil, nil)
}

// editing shows the form for an existing page.
func (s *Site) editing(id string, d ashiato.Draft, r refused, theirs *templates.Notice, preview *pages.Preview) answer {
	page := pages.Write{
		Heading: editTitle, Action: editPath(id), Version: versionText(d.Version), Delete: "/delete/" + id, History: historyPath(id),
		Notice: r.notice, Fields: draftFields(d, r.problems), Theirs: theirs, Preview: preview,
	}
	return answer{status: r.status, title: editTitle, body: page.Body()}
}

// theirs returns the notice that a page changed while its author was editing it. The
// notice shows both versions side by side.
func theirs(c *ashiato.EditConflict) *templates.Notice {
	saved, mine := templates.Compare(whole(draftOf(c.Saved)), whole(c.Yours))
	edit := versionText(c.Saved.Version)
	return &templates.Notice{
		Title: "This page changed while you were writing",
		Words: "It was saved from another window on " + moment(c.Saved.Edited) + ". Nothing is lost: your text is below, and the differences are marked.",
		Versions: []templates.Version{
			{Title: "Saved version (edit " + edit + ")", Pieces: saved},
			{Title: "Your version (not saved)", Pieces: mine},
		},
		Hint: "Copy over what you want to keep, then save. Your text becomes edit " + versionText(c.Saved.Version+1) + ". Edit " + edit + " stays in the history.",
		Buttons: []templates.Button{
			{Text: "Save mine as edit " + versionText(c.Saved.Version+1), Form: "draft"},
			{Text: "Discard mine", Quiet: true, Href: pagePath(c.Saved.Slug)},
		},
	}
}

// whole returns everything that an edit can change, as one text.
func whole(d ashiato.Draft) string {
	return d.Title + "\n\n" + d.Body + "\n\n" + strings.Join(d.Topics, ", ") + "\n" + d.Slug
}
