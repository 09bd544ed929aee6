package web

import (
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/templates"
)

// line returns a field without surrounding spaces.
func (v *visit) line(name string) string { return strings.TrimSpace(v.PostFormValue(name)) }

// formID returns the id of the record that the form creates, once even if sent twice.
func (v *visit) formID() (string, error) {
	id := v.PostFormValue("id")
	if !kvmodel.IsID(id) {
		return "", errBadForm
	}
	return id, nil
}

// whole returns an error if a field is missing, which must not be saved as empty.
func (v *visit) whole(fields ...string) error {
	for _, field := range fields {
		if !v.PostForm.Has(field) {
			return errBadForm
		}
	}
	return nil
}

// number returns the positive number in a field.
func (v *visit) number(name string) (int64, error) {
	n, err := strconv.ParseInt(v.PostFormValue(name), 10, 64)
	if err != nil || n < 1 {
		return 0, errBadForm
	}
	return n, nil
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// refuse explains err beside the wrong fields or above the form, and sets the status of the answer.
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
