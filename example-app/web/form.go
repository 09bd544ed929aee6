package web

import (
	"errors"
	"net/http"
	"regexp"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/kvmodel"
)

// form is one that is shown, perhaps again with what was typed.
type form struct {
	Problems ashiato.Problems // by field
	Notice   string           // about all of it
}

// again is the form page shown once more because of err, with all that was
// typed, which data holds.
func (f *form) again(r *http.Request, err error, page, title string, data any) (answer, error) {
	o := report(r, err)
	f.Problems = problemsIn(err)
	if f.Problems == nil {
		f.Notice = o.says
	}
	return answer{status: o.status, page: page, title: title, data: data}, nil
}

// readForm makes r's fields readable by r.PostFormValue.
func readForm(r *http.Request) error {
	err := r.ParseForm()
	if _, tooBig := errors.AsType[*http.MaxBytesError](err); tooBig {
		return errTooBig
	}
	if err != nil {
		return errBadForm
	}
	return nil
}

// line is the field name of r without blanks around it, text with the line ends
// of Unix.
func line(r *http.Request, name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
func text(r *http.Request, name string) string {
	return strings.ReplaceAll(r.PostFormValue(name), "\r\n", "\n")
}

var newIDs = regexp.MustCompile(`^[0-9A-Za-z]{26}$`)

// newID is the id that a form was given for what it is to make, so that a form
// that is sent twice makes it once.
func newID(r *http.Request) (string, error) {
	id := r.PostFormValue("id")
	if !newIDs.MatchString(id) {
		return "", errBadForm
	}
	return id, nil
}

// usedUp tells whether err says that the record a form was to make is there
// already, as opposed to one of its values being taken.
func usedUp(err error) bool {
	_, taken := errors.AsType[*kvmodel.TakenError](err)
	return !taken && errors.Is(err, kvmodel.ErrExists)
}
