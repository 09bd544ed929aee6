package web

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/example-app/ashiato"
	"github.com/ringtree/ringtree/templates"
)

// readForm parses the form of a request.
func readForm(v *visit) error {
	err := v.ParseForm()
	if _, tooBig := errors.AsType[*http.MaxBytesError](err); tooBig {
		v.drain()
		return errTooBig
	}
	if err != nil {
		return errBadForm
	}
	return nil
}

// maxDrained is how much of a form that is too big is read to its end.
const maxDrained = 16 << 20

// drain reads the rest of the request. A browser that still sends it does not look for the
// answer, and shows a broken connection instead.
func (v *visit) drain() {
	if body, ok := v.Body.(limitedBody); ok {
		// What cannot be read is not sent any more.
		_, _ = io.CopyN(io.Discard, body.whole, maxDrained)
	}
}

// limitedBody is the body of a request as a form may use it, and the whole of it.
type limitedBody struct {
	io.ReadCloser
	whole io.Reader
}

// line returns a field without the spaces around it. text returns a field with
// Unix line endings.
func (v *visit) line(name string) string { return strings.TrimSpace(v.PostFormValue(name)) }
func (v *visit) text(name string) string { return templates.ReadText(v.PostFormValue(name)) }

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
