package inspect

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtree/ringtree/inspect/internal/face"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

// faceEditMost is the maximum size of a form in bytes.
const faceEditMost = 4 << 20

// editForm returns the form that edits r, or false if no field can be edited.
func (h *faceHandler) editForm(m model, r *Record, entered url.Values) (face.Form, bool) {
	fields, err := plainFields(m, r.Fields, r.ID)
	if !h.o.Editable || err != nil || len(fields) == 0 {
		return face.Form{}, false
	}
	f := face.Form{
		Title: "Edit the record", Action: h.at("record", nil), Button: "Save", Post: true,
		Hidden: []face.Input{{Name: "model", Value: r.Model}, {Name: "id", Value: r.ID}, {Name: "rev", Value: strconv.FormatUint(r.Rev, 10)}},
	}
	if entered != nil {
		f.Hidden[2].Value = entered.Get("rev") // the rev of the page
	}
	for _, field := range fields {
		value, _ := field.input()
		i := face.Input{Name: "field." + field.Name, Label: field.Name, Value: value, Lines: strings.Count(value, "\n") + len(value)/80 + 1}
		if _, isText := field.Value.(string); !isText {
			i.Lines = 1
		}
		if entered.Has(i.Name) {
			i.Value = entered.Get(i.Name)
		}
		f.Fields = append(f.Fields, i)
	}
	return f, true
}

func (h *faceHandler) save(w http.ResponseWriter, r *http.Request) {
	if err := isOwnForm(r); err != nil {
		h.show(w, r, func(*faceHandler, context.Context, url.Values) (face.Page, error) { return face.Page{}, err })
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, faceEditMost)
	if err := r.ParseForm(); err != nil {
		h.show(w, r, func(*faceHandler, context.Context, url.Values) (face.Page, error) {
			return face.Page{}, faceError{"The form cannot be read: " + err.Error(), kvmodel.ErrInvalid}
		})
		return
	}
	form := r.PostForm
	ctx, cancel := context.WithTimeout(r.Context(), facePatience)
	defer cancel()
	err := h.saved(ctx, form)
	if err == nil {
		http.Redirect(w, r, h.recordAt(form.Get("model"), form.Get("id")), http.StatusSeeOther)
		return
	}
	h.show(w, r, func(h *faceHandler, ctx context.Context, _ url.Values) (face.Page, error) {
		if !errors.Is(err, kv.ErrConflict) {
			p, _ := h.recordAsEntered(ctx, form.Get("model"), form.Get("id"), form)
			return p, err
		}
		p, now := h.recordAsEntered(ctx, form.Get("model"), form.Get("id"), nil)
		if now == nil {
			p.Parts = append([]face.Part{enteredNotes(form)}, p.Parts...)
		}
		return p, err
	})
}

// saved writes the values of form, and logs the edit.
func (h *faceHandler) saved(ctx context.Context, form url.Values) error {
	m, err := h.in.model(form.Get("model"))
	if err != nil {
		return err
	}
	rev, err := strconv.ParseUint(form.Get("rev"), 10, 64)
	if err != nil {
		return faceError{"The rev of the record is missing.", kvmodel.ErrInvalid}
	}
	texts := make(map[string]string)
	for name := range form {
		if field, ok := strings.CutPrefix(name, "field."); ok {
			texts[field] = strings.ReplaceAll(form.Get(name), "\r\n", "\n") // as browsers send lines
		}
	}
	id := form.Get("id")
	changed, err := h.in.edit(ctx, m, id, rev, texts)
	if errors.Is(err, kv.ErrConflict) {
		err = faceError{"The record has changed since the page was shown, so nothing was written.", kv.ErrConflict}
	}
	if err == nil && len(changed) > 0 {
		h.o.Log.InfoContext(ctx, "record edited", "model", m.Name(), "id", id, "fields", changed, "rev", rev)
	}
	return err
}

func enteredNotes(form url.Values) face.Part {
	n := face.Notes{Title: "Your values"}
	for name := range form {
		if field, ok := strings.CutPrefix(name, "field."); ok {
			n.Texts = append(n.Texts, face.Text{Text: field + ": " + form.Get(name)})
		}
	}
	slices.SortFunc(n.Texts, func(a, b face.Text) int { return strings.Compare(a.Text, b.Text) })
	return n
}

// errOtherSite means that a form was sent from a page of another site.
var errOtherSite = faceError{"The form does not come from this site, so nothing was written.", kvmodel.ErrReadOnly}

// isOwnForm returns an error unless a page of this site has sent the form. Browsers report this in
// one of two headers.
func isOwnForm(r *http.Request) error {
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" || http.NewCrossOriginProtection().Check(r) != nil {
		return errOtherSite
	}
	return nil
}
