package web

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
)

const editTitle = "Edit page"

func editPath(id string) string { return "/edit/" + url.PathEscape(id) }

// editForm shows the page with the id in the path as it can be changed. The
// path has the id, since the address is among what can be changed.
func (s *site) editForm(r *http.Request) (answer, error) {
	page, err := s.pages.Get(r.Context(), r.PathValue("id"))
	if err != nil {
		return answer{}, err
	}
	if !page.Live() {
		return answer{}, ashiato.ErrTrashed
	}
	return answer{page: "draft", title: editTitle, data: &draft{
		Action: editPath(page.ID), ID: page.ID, Version: page.Version,
		Slug: page.Slug, Title: page.Title, Body: page.Body,
	}}, nil
}

// edit saves what was typed, unless the page has changed since it was shown.
func (s *site) edit(r *http.Request) (answer, error) {
	if err := readForm(r); err != nil {
		return answer{}, err
	}
	version, err := readVersion(r)
	if err != nil {
		return answer{}, err
	}
	id := r.PathValue("id")
	d := readDraft(r, &draft{Action: editPath(id), ID: id, Version: version})
	var now ashiato.Page
	page, err := s.pages.Update(r.Context(), id, func(p *ashiato.Page) error {
		now = *p
		return p.Edit(ashiato.Draft{Slug: d.Slug, Title: d.Title, Body: d.Body, Version: version})
	})
	switch {
	case errors.Is(err, ashiato.ErrTrashed), errors.Is(err, kvmodel.ErrNotFound):
		return s.editedGone(r, d, err)
	case errors.Is(err, kvmodel.ErrConflict):
		return editedBoth(r, d, &now, err)
	case err != nil:
		return d.again(r, err, "draft", editTitle, d)
	}
	return answer{to: pagePath(page.Slug)}, nil
}

// editedBoth shows what somebody else has saved and what was typed, which the
// next save puts in its place.
func editedBoth(r *http.Request, d *draft, theirs *ashiato.Page, err error) (answer, error) {
	d.Theirs, d.Version = theirs, theirs.Version
	a, err := d.again(r, err, "draft", editTitle, d)
	d.Notice = ""
	return a, err
}

// editedGone offers what was typed about a page that is gone as a new page.
func (s *site) editedGone(r *http.Request, d *draft, err error) (answer, error) {
	fresh := s.newDraft()
	fresh.Slug, fresh.Title, fresh.Body = d.Slug, d.Title, d.Body
	a, err := fresh.again(r, err, "draft", writeTitle, fresh)
	fresh.Notice += " Your text is below; save it to make a new page of it."
	return a, err
}

func readVersion(r *http.Request) (int64, error) {
	version, err := strconv.ParseInt(r.PostFormValue("version"), 10, 64)
	if err != nil || version < 1 {
		return 0, errBadForm
	}
	return version, nil
}

// trash puts the page with the id in the path into the trash, unless it has
// changed since it was shown.
func (s *site) trash(r *http.Request) (answer, error) {
	if err := readForm(r); err != nil {
		return answer{}, err
	}
	version, err := readVersion(r)
	if err != nil {
		return answer{}, err
	}
	_, err = s.pages.Update(r.Context(), r.PathValue("id"), func(p *ashiato.Page) error {
		return p.Trash(version, s.now())
	})
	if err != nil {
		return answer{}, err
	}
	return answer{to: "/"}, nil
}
