package web

import (
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/templates"
)

// line returns a field without the spaces around it.
func (v *visit) line(name string) string { return strings.TrimSpace(v.PostFormValue(name)) }

// formID returns the form's id for the record it creates. With that id, a form sent twice creates
// one record.
func (v *visit) formID() (string, error) {
	id := v.PostFormValue("id")
	if !kvmodel.IsID(id) {
		return "", errBadForm
	}
	return id, nil
}

// whole returns an error if the form lacks a field. A missing field must not be saved as empty.
func (v *visit) whole(fields ...string) error {
	for _, field := range fields {
		if !v.PostForm.Has(field) {
			return errBadForm
		}
	}
	return nil
}

// number returns the positive number in a field, such as the version of the page at the start of
// the form.
func (v *visit) number(name string) (int64, error) {
	n, err := strconv.ParseInt(v.PostFormValue(name), 10, 64)
	if err != nil || n < 1 {
		return 0, errBadForm
	}
	return n, nil
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// refuse explains err in a form: a problem beside each wrong field, or a notice above the form. The
// visit's answer gets the status of err.
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
	*form = form.Explain(problems)
}
