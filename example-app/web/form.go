package web

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
)

// readForm parses the form of a request.
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

// line returns a field without the spaces around it. text returns a field with
// Unix line endings.
func (v *visit) line(name string) string { return strings.TrimSpace(v.PostFormValue(name)) }
func (v *visit) text(name string) string {
	return strings.ReplaceAll(v.PostFormValue(name), "\r\n", "\n")
}

// formID returns the id that the form was given for the record it creates. Because
// of it, a form that is sent twice creates one record.
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

// refused is what a form shows after an error: a problem with each wrong field, or
// a notice about the form as a whole.
type refused struct {
	status   int
	problems ashiato.Problems
	notice   string
}

func refuse(v *visit, err error) refused {
	o := report(v, err)
	if problems, ok := errors.AsType[ashiato.Problems](err); ok && len(problems) > 0 {
		return refused{status: o.status, problems: problems}
	}
	return refused{status: o.status, notice: o.title + ". " + o.says}
}

// version returns the version of the page that the form started from.
func (v *visit) version() (int64, error) {
	version, err := strconv.ParseInt(v.PostFormValue("version"), 10, 64)
	if err != nil || version < 1 {
		return 0, errBadForm
	}
	return version, nil
}

func versionText(n int64) string { return strconv.FormatInt(n, 10) }
