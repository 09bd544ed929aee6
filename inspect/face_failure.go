package inspect

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"

	"github.com/ringtree/ringtree/inspect/internal/face"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// faceError is an error with a text for pages.
type faceError struct {
	text string
	is   error
}

func (e faceError) Error() string { return e.text }
func (e faceError) Unwrap() error { return e.is }

// errNowhere means that no page has this address.
var errNowhere = faceError{"There is no page at this address.", kvmodel.ErrNotFound}

func (h *faceHandler) nowhere(context.Context, url.Values) (face.Page, error) {
	return face.Page{}, errNowhere
}

// faceFailures are the kinds of failures, each with its HTTP status and its title.
var faceFailures = []struct {
	status int
	title  string
	errs   []error
}{
	{http.StatusNotFound, "Not found", []error{ErrUnknown, kvmodel.ErrNotFound}},
	{http.StatusBadRequest, "Invalid request", []error{kvmodel.ErrInvalid, kv.ErrTooLarge, kv.ErrBadKey}},
	{http.StatusForbidden, "Not allowed", []error{errOtherSite}},
	{http.StatusConflict, "Not possible now", []error{kv.ErrConflict, kv.ErrExists, kvmodel.ErrNeedsRebuild}},
}

// faceStatus returns the HTTP status and the title of the page that shows err.
func faceStatus(err error) (status int, title string) {
	for _, f := range faceFailures {
		if slices.ContainsFunc(f.errs, func(kind error) bool { return errors.Is(err, kind) }) {
			return f.status, f.title
		}
	}
	if kv.Failed(err) || ctxEnded(err) {
		return http.StatusServiceUnavailable, "The store does not answer"
	}
	return http.StatusInternalServerError, "The data cannot be read"
}

// failure returns p with the text of err. A page without a title is only about err.
func (h *faceHandler) failure(p face.Page, err error) face.Page {
	status, title := faceStatus(err)
	said := face.Text{Text: err.Error(), Wrong: true}
	if p.Title != "" {
		p.Parts = append([]face.Part{face.Notes{Title: title, Texts: []face.Text{said}}}, p.Parts...)
		return p
	}
	p.Title, p.Lead = title, err.Error()
	if status == http.StatusNotFound {
		p.Parts = append(p.Parts, h.whatThereIs())
	}
	return p
}

func (h *faceHandler) whatThereIs() face.Part {
	t := face.Table{
		Title: "Models and indexes", Caption: "All models with their indexes", Columns: face.Columns("Model", "Indexes"),
		Empty: "This program has no models.",
	}
	for i := range h.in.models {
		m := &h.in.models[i]
		var indexes face.Cell
		for _, w := range m.windows {
			indexes = append(indexes, face.Text{Text: w.Name(), Href: h.indexAt(m.Name()+"."+w.Name(), "")})
		}
		t.Rows = append(t.Rows, []face.Cell{{{Text: m.Name(), Href: h.modelAt(m.Name())}}, indexes})
	}
	for _, w := range h.in.alone {
		t.Rows = append(t.Rows, []face.Cell{{{Text: w.Name(), Href: h.indexAt(w.Name(), "")}}, {{Text: w.Kind()}}})
	}
	return t
}
