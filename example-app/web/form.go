package web

import (
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/templates"
)

func (v *visit) line(name string) string { return strings.TrimSpace(v.PostFormValue(name)) }

// formID returns the id of the record that the form creates once.
func (v *visit) formID() (string, error) {
	id := v.PostFormValue("id")
	if !kvmodel.IsID(id) {
		return "", errBadForm
	}
	return id, nil
}

// A missing field must not be saved as an empty one.
func (v *visit) whole(fields ...string) error {
	for _, field := range fields {
		if !v.PostForm.Has(field) {
			return errBadForm
		}
	}
	return nil
}

func (v *visit) number(name string) (int64, error) {
	n, err := strconv.ParseInt(v.PostFormValue(name), 10, 64)
	if err != nil || n < 1 {
		return 0, errBadForm
	}
	return n, nil
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// refuse explains err in the form, and sets the status.
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
