package web

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/templates"
)

// readForm parses the form of a request, if it is one that sends a form.
func (v *visit) readForm() error {
	if v.Method != http.MethodPost {
		return nil
	}
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
	if len(id) != 26 || strings.Trim(id, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		return "", errBadForm
	}
	return id, nil
}

// refuse notes in a form why err refused it: a problem beside each wrong field, or a notice
// about the form as a whole. The answer to the visit gets the status of err.
func (v *visit) refuse(form *templates.Form, err error) {
	if err == nil {
		return
	}
	o := v.report(err)
	v.status = o.status
	problems := kvmodel.ProblemsOf(err)
	if len(problems) == 0 {
		form.Notice = o.title + ". " + o.says
	}
	form.Fields = templates.Explain(problems, form.Fields)
}

// number returns the positive number in a field, such as the version of the page that the
// form started from.
func (v *visit) number(name string) (int64, error) {
	n, err := strconv.ParseInt(v.PostFormValue(name), 10, 64)
	if err != nil || n < 1 {
		return 0, errBadForm
	}
	return n, nil
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
