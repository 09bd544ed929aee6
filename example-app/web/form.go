package web

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

// readForm makes the fields of a form readable.
func readForm(v *visit) error {
	err := v.ParseForm()
	if _, tooBig := errors.AsType[*http.MaxBytesError](err); tooBig {
		return errTooBig
	}
	if err != nil {
		return errBadForm
	}
	return nil
}

// line is the field name without blanks around it, text with the line ends of
// Unix.
func (v *visit) line(name string) string { return strings.TrimSpace(v.PostFormValue(name)) }
func (v *visit) text(name string) string {
	return strings.ReplaceAll(v.PostFormValue(name), "\r\n", "\n")
}

// formID is the id that a form was given for what it is to make, so that a form
// that is sent twice makes it once.
func (v *visit) formID() (string, error) {
	id := v.PostFormValue("id")
	if len(id) != 26 || strings.ContainsFunc(id, func(r rune) bool { return !letterOrDigit(r) }) {
		return "", errBadForm
	}
	return id, nil
}

func letterOrDigit(r rune) bool {
	return '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
}

// refused is what a form is told because of an error: about its fields, or
// about all of it.
type refused struct {
	status   int
	problems ashiato.Problems
	notice   string
}

func refuse(v *visit, err error) refused {
	o := report(v, err)
	r := refused{status: o.status, problems: problemsIn(err)}
	if len(r.problems) == 0 {
		r.notice = o.says
		if o.title != o.says {
			r.notice = o.title + ". " + o.says
		}
	}
	return r
}

// version is that of the page a form was made of.
func (v *visit) version() (int64, error) {
	version, err := strconv.ParseInt(v.PostFormValue("version"), 10, 64)
	if err != nil || version < 1 {
		return 0, errBadForm
	}
	return version, nil
}

func versionText(n int64) string { return strconv.FormatInt(n, 10) }
