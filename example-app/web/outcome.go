package web

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
)

// What can be wrong with a request, whatever is stored.
var (
	errOtherSite = errors.New("the form was sent from another site")
	errBadForm   = errors.New("the form cannot be read")
	errTooBig    = errors.New("the form is too big")
)

// outcome is what a visitor is told of an error.
type outcome struct {
	err    error
	status int
	says   string
}

// outcomes is the table from errors to what visitors are told. The first that
// fits counts, so what could not be asked stands before what was answered.
var outcomes = []outcome{
	{kvmodel.ErrUnclear, http.StatusServiceUnavailable, "The store did not say whether this was saved. Send it again: it will not be saved twice."},
	{kvmodel.ErrLost, http.StatusServiceUnavailable, "The store has lost its data. Somebody who runs this site has to decide what now."},
	{kvmodel.ErrUnavailable, http.StatusServiceUnavailable, "The store does not answer. Nothing was changed; try again in a moment."},
	{kvmodel.ErrNeedsRebuild, http.StatusServiceUnavailable, "This is being rebuilt. Try again later."},
	{ashiato.ErrTrashed, http.StatusGone, "This page was put into the trash."},
	{kvmodel.ErrNotFound, http.StatusNotFound, "There is nothing at this address."},
	{kvmodel.ErrConflict, http.StatusConflict, "Somebody else has changed this meanwhile. Nothing was done; look at it again."},
	{kvmodel.ErrExists, http.StatusConflict, "This is taken."},
	{kvmodel.ErrInvalid, http.StatusUnprocessableEntity, "This cannot be stored as it is."},
	{kvmodel.ErrTooLarge, http.StatusRequestEntityTooLarge, "This is too long to be stored."},
	{errTooBig, http.StatusRequestEntityTooLarge, "This is more than a page can hold. Nothing was changed; your browser's back button has your text."},
	{errBadForm, http.StatusBadRequest, "This form cannot be read. Nothing was changed."},
	{errOtherSite, http.StatusForbidden, "This form was sent from another site. Nothing was changed."},
}

// outcomeOf returns what the table says of err.
func outcomeOf(err error) outcome {
	for _, o := range outcomes {
		if errors.Is(err, o.err) {
			return o
		}
	}
	return outcome{err, http.StatusInternalServerError, "Something is wrong on this site. It has been noted."}
}

// report returns what the table says of err, and logs what a visitor cannot do
// anything about.
func report(r *http.Request, err error) outcome {
	o := outcomeOf(err)
	if o.status >= http.StatusInternalServerError {
		slog.Error("example-app: request failed", "method", r.Method, "path", r.URL.Path, "err", err)
	}
	return o
}

// failure is the page that tells of err.
func failure(r *http.Request, err error) answer {
	o := report(r, err)
	return answer{status: o.status, page: "failure", title: http.StatusText(o.status), data: o.says}
}

func notFound(*http.Request) (answer, error) { return answer{}, kvmodel.ErrNotFound }

// fieldOf says which field of a form the values of a unique index come from.
var fieldOf = map[string]string{"BySlug": "slug", "ByHandle": "handle"}

// problemsIn returns what err says about the fields of a form.
func problemsIn(err error) ashiato.Problems {
	if taken, ok := errors.AsType[*kvmodel.TakenError](err); ok {
		return ashiato.Problems{fieldOf[taken.Index]: "“" + taken.Value + "” is taken."}
	}
	problems, _ := errors.AsType[ashiato.Problems](err)
	return problems
}
