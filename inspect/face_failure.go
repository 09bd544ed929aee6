package inspect

import (
	"context"
	"errors"
	"net/http"
	"net/url"

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

// faceStatus returns the HTTP status of the page that shows err.
func faceStatus(err error) int {
	switch {
	case err == nil:
		return http.StatusOK
	case errors.Is(err, ErrUnknown), errors.Is(err, kvmodel.ErrNotFound):
		return http.StatusNotFound
	case errors.Is(err, kvmodel.ErrInvalid), errors.Is(err, kv.ErrTooLarge), errors.Is(err, kv.ErrBadKey):
		return http.StatusBadRequest
	case errors.Is(err, errOtherSite):
		return http.StatusForbidden
	case errors.Is(err, kv.ErrConflict), errors.Is(err, kv.ErrExists), errors.Is(err, kvmodel.ErrNeedsRebuild):
		return http.StatusConflict
	case kv.Failed(err), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// Titles of failures, by status.
var faceTitles = map[int]string{
	http.StatusNotFound:            "Not found",
	http.StatusBadRequest:          "Invalid request",
	http.StatusForbidden:           "Not allowed",
	http.StatusConflict:            "Not possible now",
	http.StatusServiceUnavailable:  "The store does not answer",
	http.StatusInternalServerError: "The data cannot be read",
}

// failure returns p with the text of err. A page without a title is only about err.
func (h *faceHandler) failure(p face.Page, err error) face.Page {
	title := faceTitles[faceStatus(err)]
	said := face.Text{Text: err.Error(), Wrong: true}
	if p.Title != "" {
		p.Parts = append([]face.Part{face.Notes{Title: title, Texts: []face.Text{said}}}, p.Parts...)
		return p
	}
	p.Title, p.Lead = title, err.Error()
	if faceStatus(err) == http.StatusNotFound {
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
