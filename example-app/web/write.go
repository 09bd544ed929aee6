package web

import (
	"cmp"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/example-app/web/pages"
	"github.com/ringtree/ringtree/templates"
)

const (
	writeTitle = "Write a page"
	editTitle  = "Edit page"
)

// writing is how often a member may save a page.
var writing = ashiato.Limit{What: "pages", Times: 60, Per: time.Hour}

// writeForm shows the form of a new page.
func (s *Site) writeForm(*visit) (answer, error) {
	return s.draft(ashiato.Draft{ID: s.app.NewID()}, refused{}, nil), nil
}

// draft shows the form of a new page with what was typed.
func (s *Site) draft(d ashiato.Draft, r refused, preview *pages.Preview) answer {
	page := pages.Write{
		Heading: writeTitle, Action: "/write", ID: d.ID,
		Notice: r.notice, Fields: draftFields(d, r.problems), Preview: preview,
	}
	return answer{status: r.status, title: writeTitle, here: "/write", body: page.Body()}
}

// draftFields returns the fields of a page's form.
func draftFields(d ashiato.Draft, wrong ashiato.Problems) []templates.Field {
	return []templates.Field{
		{Name: "title", Label: "Title", Value: d.Title, Error: wrong["title"], Writing: true, Required: true, Max: ashiato.MaxTitle},
		{
			Name: "body", Label: "Text", Value: d.Body, Error: wrong["body"], Writing: true, Required: true, Rows: 14, Max: ashiato.MaxBody,
			Hint: "Blank line: new paragraph. ## heading, *emphasis*, > quote, [words](address).",
		},
		{Name: "topics", Label: "Topics", Value: strings.Join(d.Topics, ", "), Error: wrong["topics"], Hint: "Up to five, with commas between."},
		{
			Name: "slug", Label: "Address", Value: d.Slug, Error: wrong["slug"], Max: ashiato.MaxSlug,
			Hint: "The last part of the page’s address: small letters, digits and -. Leave it empty to have it made from the title.",
		},
	}
}

// readDraft returns what was typed into the form of a page.
func readDraft(v *visit) ashiato.Draft {
	d := ashiato.Draft{
		Title:  v.line("title"),
		Body:   v.text("body"),
		Topics: topicsIn(v.line("topics")),
		Slug:   strings.ToLower(v.line("slug")),
	}
	d.Slug = cmp.Or(d.Slug, slugOf(d.Title))
	return d
}

// topicsIn returns the topics in a text with commas between.
func topicsIn(text string) []string {
	var topics []string
	for topic := range strings.SplitSeq(text, ",") {
		if topic = strings.ToLower(strings.TrimSpace(topic)); topic != "" {
			topics = append(topics, topic)
		}
	}
	return topics
}

// slugOf returns an address made from a title: its letters and digits, with -
// between words.
func slugOf(title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9') })
	slug := strings.Join(words, "-")
	if len(slug) > ashiato.MaxSlug {
		slug = strings.TrimRight(slug[:ashiato.MaxSlug], "-")
	}
	return slug
}

// previewOf returns how d would look, if that was asked for.
func previewOf(v *visit, d ashiato.Draft) *pages.Preview {
	if v.PostFormValue("do") != "preview" {
		return nil
	}
	return &pages.Preview{Title: d.Title, Text: d.Body, Topics: linksTo(d.Topics)}
}

// write makes the page that was typed.
func (s *Site) write(v *visit) (answer, error) {
	if err := readForm(v); err != nil {
		return answer{}, err
	}
	id, err := v.formID()
	if err != nil {
		return answer{}, err
	}
	d := readDraft(v)
	d.ID = id
	if preview := previewOf(v, d); preview != nil {
		return s.draft(d, refused{}, preview), nil
	}
	page, err := s.publish(v, d)
	if err != nil {
		r := refuse(v, err)
		if errors.Is(err, ashiato.ErrSentBefore) {
			d.ID = s.app.NewID()
		}
		return s.draft(d, r, nil), nil
	}
	return s.saved(v, page)
}

func (s *Site) publish(v *visit, d ashiato.Draft) (*ashiato.Page, error) {
	member, err := v.signedIn()
	if err != nil {
		return nil, err
	}
	if err := s.app.Allow(v.Context(), ashiato.Try{Limit: writing, Who: member}); err != nil {
		return nil, err
	}
	return s.app.Write(v.Context(), member, d)
}

// saved leads to a page that was saved, which becomes the one that the ranking
// is shown around.
func (s *Site) saved(v *visit, page *ashiato.Page) (answer, error) {
	if err := v.remember(page.ID); err != nil {
		return answer{}, err
	}
	return answer{to: pagePath(page.Slug)}, nil
}

// editForm shows the page with the id in the path as it can be changed. The
// path has the id, since the address is among what can be changed.
func (s *Site) editForm(v *visit) (answer, error) {
	page, err := s.own(v, v.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	return s.editing(page.ID, draftOf(page), refused{}, nil, nil), nil
}

// own returns the page with that id if the member may change it.
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

// edit saves what was typed, unless the page has changed since it was shown.
func (s *Site) edit(v *visit) (answer, error) {
	if err := readForm(v); err != nil {
		return answer{}, err
	}
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
	page, err := s.change(v, id, d)
	if err != nil {
		return s.notChanged(v, id, d, err), nil
	}
	return s.saved(v, page)
}

func (s *Site) change(v *visit, id string, d ashiato.Draft) (*ashiato.Page, error) {
	member, err := v.signedIn()
	if err != nil {
		return nil, err
	}
	if err := s.app.Allow(v.Context(), ashiato.Try{Limit: writing, Who: member}); err != nil {
		return nil, err
	}
	return s.app.Edit(v.Context(), member, id, d)
}

// notChanged shows what was typed again, with why it was not saved: what
// somebody has saved meanwhile, or as a new page if the page is gone.
func (s *Site) notChanged(v *visit, id string, d ashiato.Draft, err error) answer {
	if conflict, ok := errors.AsType[*ashiato.EditConflict](err); ok {
		d.Version = conflict.Saved.Version
		return s.editing(id, d, refused{status: report(v, err).status}, theirs(conflict), nil)
	}
	r := refuse(v, err)
	if r.status == http.StatusNotFound || r.status == http.StatusGone {
		d.ID = s.app.NewID()
		r.notice += " Your text is below; save it to make a new page of it."
		return s.draft(d, r, nil)
	}
	return s.editing(id, d, r, nil, nil)
}

// editing shows the form of a page that is there.
func (s *Site) editing(id string, d ashiato.Draft, r refused, theirs *templates.Notice, preview *pages.Preview) answer {
	page := pages.Write{
		Heading: editTitle, Action: editPath(id), Version: versionText(d.Version), Delete: "/delete/" + id,
		Notice: r.notice, Fields: draftFields(d, r.problems), Theirs: theirs, Preview: preview,
	}
	return answer{status: r.status, title: editTitle, body: page.Body()}
}

// theirs is the notice that a page has changed while somebody was writing, with
// what differs side by side.
func theirs(c *ashiato.EditConflict) *templates.Notice {
	saved, mine := templates.Compare(whole(c.Saved.Title, c.Saved.Slug, c.Saved.Body, c.Saved.Topics), whole(c.Yours.Title, c.Yours.Slug, c.Yours.Body, c.Yours.Topics))
	edit := versionText(c.Saved.Version)
	return &templates.Notice{
		Title: "This page changed while you were writing",
		Words: "It was saved from another window on " + moment(c.Saved.Edited) + ". Nothing is lost: your text is below, and the marked words differ.",
		Versions: []templates.Version{
			{Title: "Saved meanwhile (edit " + edit + ")", Pieces: saved},
			{Title: "Yours, not saved", Pieces: mine},
		},
		Hint: "Bring over what you want to keep, then save. Saving makes your text edit " + versionText(c.Saved.Version+1) + "; edit " + edit + " stays in the history.",
		Buttons: []templates.Button{
			{Text: "Save mine as edit " + versionText(c.Saved.Version+1), Form: "draft"},
			{Text: "Discard mine", Quiet: true, Href: pagePath(c.Saved.Slug)},
		},
	}
}

// whole is all of a page that can be changed, as one text.
func whole(title, slug, body string, topics []string) string {
	return title + "\n\n" + body + "\n\n" + strings.Join(topics, ", ") + "\n" + slug
}

// trash puts the page with the id in the path into the trash, unless it has
// changed since it was shown.
func (s *Site) trash(v *visit) (answer, error) {
	if err := readForm(v); err != nil {
		return answer{}, err
	}
	version, err := v.version()
	if err != nil {
		return answer{}, err
	}
	member, err := v.signedIn()
	if err != nil {
		return answer{}, err
	}
	id := v.PathValue("id")
	_, err = s.app.Trash(v.Context(), member, id, version)
	if conflict, ok := errors.AsType[*ashiato.EditConflict](err); ok {
		r := refuse(v, err)
		r.notice = "The page was saved from another window on " + moment(conflict.Saved.Edited) + ", so it was not deleted. Below is how it stands now."
		return s.editing(id, draftOf(conflict.Saved), r, nil, nil), nil
	}
	if err != nil {
		return answer{}, err
	}
	return answer{to: "/"}, nil
}
