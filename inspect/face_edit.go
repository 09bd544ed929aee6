package inspect

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/ringtree/ringtree/inspect/internal/face"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/kv"
)

const faceEditMost = 4 << 20

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
	if err := h.parse(w, r); err != nil {
		h.show(w, r, func(*faceHandler, context.Context, url.Values) (face.Page, error) { return face.Page{}, err })
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

func (h *faceHandler) parse(w http.ResponseWriter, r *http.Request) error {
	if err := isOwnForm(r); err != nil {
		return err
	}
	r.Body = http.MaxBytesReader(w, r.Body, faceEditMost)
	if err := r.ParseForm(); err != nil {
		return faceError{"The form cannot be read: " + err.Error(), kvmodel.ErrInvalid}
	}
	return nil
}

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

var errOtherSite = faceError{"The form does not come from this site, so nothing was written.", kvmodel.ErrReadOnly}

// Browsers name the sender of a form in one of two headers.
func isOwnForm(r *http.Request) error {
	if r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == "" || http.NewCrossOriginProtection().Check(r) != nil {
		return errOtherSite
	}
	return nil
}

// plainFields omits the id, private fields, and those that the data class sets.
func plainFields(m model, s []Field, id string) (plain []Field, err error) {
	var of [2][]Field
	empty, err := m.Body(nil)
	if err != nil {
		return nil, err
	}
	fixed, err := m.Fixed(id)
	if err != nil {
		return nil, err
	}
	for i, body := range [][]byte{empty, fixed} {
		if of[i], err = fieldsOf(body); err != nil {
			return nil, err
		}
	}
	for _, f := range s {
		isSame := func(other Field) bool {
			return other.Name == f.Name && slices.ContainsFunc(of[0], func(e Field) bool { return e.Name == f.Name && e.Text() == other.Text() })
		}
		if _, ok := f.input(); ok && slices.ContainsFunc(of[1], isSame) && !slices.Contains(m.Private(), f.Name) {
			plain = append(plain, f)
		}
	}
	return plain, nil
}

// input returns the value as a person enters it, and whether that is possible.
func (f Field) input() (text string, ok bool) {
	switch v := f.Value.(type) {
	case string:
		return v, v == strings.ToValidUTF8(v, "") && !strings.ContainsFunc(v, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' })
	case bool, int64, uint64, float64:
		return fmt.Sprint(v), true
	case time.Time:
		if v.IsZero() {
			return "", true
		}
		return v.UTC().Format(time.RFC3339Nano), true
	}
	return "", false
}

func (f Field) parsed(text string) (v any, err error) {
	kind := "a text"
	switch f.Value.(type) {
	case string:
		return text, nil
	case bool:
		kind = "true or false"
		v, err = strconv.ParseBool(text)
	case int64, uint64:
		kind = "a whole number"
		if v, err = strconv.ParseInt(text, 10, 64); err != nil {
			v, err = strconv.ParseUint(text, 10, 64)
		}
	case float64:
		kind = "a number"
		v, err = strconv.ParseFloat(text, 64)
	case time.Time:
		if text == "" {
			return time.Time{}, nil
		}
		kind = "a time such as 2026-03-01T12:00:00Z"
		v, err = time.Parse(time.RFC3339Nano, text)
	}
	if err != nil {
		return nil, faceError{fmt.Sprintf("%s: %q is not %s.", f.Name, text, kind), kvmodel.ErrInvalid}
	}
	return v, nil
}

func (in *Inspector) edit(ctx context.Context, m model, id string, rev uint64, texts map[string]string) (changed []string, err error) {
	err = m.Edit(ctx, id, rev, func(body []byte) ([]byte, error) {
		changed = nil
		fields, err := fieldsOf(body)
		if err != nil {
			return nil, err
		}
		plain, err := plainFields(m, fields, id)
		if err != nil {
			return nil, err
		}
		values := make(map[string]any)
		for _, f := range plain {
			text, given := texts[f.Name]
			if was, _ := f.input(); !given || text == was {
				continue
			}
			if values[f.Name], err = f.parsed(text); err != nil {
				return nil, err
			}
			changed = append(changed, f.Name)
		}
		return withFields(body, values)
	})
	return changed, err
}

func withFields(body []byte, values map[string]any) ([]byte, error) {
	var out bytes.Buffer
	d, e := msgpack.NewDecoder(bytes.NewReader(body)), msgpack.NewEncoder(&out)
	n, err := d.DecodeMapLen()
	err = cmp.Or(err, e.EncodeMapLen(n))
	for i := 0; i < n && err == nil; i++ {
		name, failed := d.DecodeString()
		raw, unread := d.DecodeRaw()
		if err = cmp.Or(failed, unread); err != nil {
			break
		}
		var v any = raw
		if next, ok := values[name]; ok {
			v = next
			if f, is := next.(float64); is && raw[0] == msgpcode.Float {
				v = float32(f)
			}
		}
		err = cmp.Or(e.EncodeString(name), e.Encode(v))
	}
	return out.Bytes(), err
}
