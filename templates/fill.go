package templates

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fill sets the variables of fields to the values in sent, which the fields show from then on. A
// variable whose field is missing or rejected keeps its value. Fill returns the problems by field,
// for Explain.
func (f Form) Fill(sent url.Values) (problems map[string]string) {
	problems = map[string]string{}
	for i := range f.Fields {
		field, problem := &f.Fields[i], ""
		// The last value counts: a checkbox follows a hidden field.
		if all := sent[field.Name]; len(all) > 0 && field.Of != nil {
			problem = field.fill(unixLines(all[len(all)-1]))
		}
		if problem == "" && field.Required && strings.TrimSpace(field.plain().Value) == "" {
			problem = "This is needed."
		}
		if problem != "" {
			problems[field.Name] = problem
		}
	}
	return problems
}

func (f *Field) fill(typed string) (problem string) {
	was := f.plain()
	if was.Type == "hidden" {
		return ""
	}
	shows := *f.Of
	shows.value = typed
	set := f.Of.set
	f.Of = &shows
	if was.Value == typed || shows.sent != nil && shows.sent(was.Value) == shows.sent(typed) {
		return ""
	}
	if problem := refused(typed, was.Max); problem != "" {
		return problem
	}
	return set(typed)
}

// Without a limit, limit is 0.
func refused(typed string, limit int) (problem string) {
	switch n := utf8.RuneCountInString(typed); {
	case limit > 0 && n > limit:
		return fmt.Sprintf("At most %s characters fit here, and this has %s.", Grouped(int64(limit)), Grouped(int64(n)))
	case !utf8.ValidString(typed):
		return "This is not valid text."
	case strings.ContainsFunc(typed, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }):
		return "This has control characters, which cannot be shown."
	}
	return ""
}

// Explain puts each problem beside its field, and those of hidden or missing fields into the
// notice.
func (f Form) Explain(problems map[string]string) Form {
	notices := []string{f.Notice}
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		at := slices.IndexFunc(f.Fields, func(field Field) bool { return field.Name == name && field.plain().Type != "hidden" })
		if at < 0 {
			notices = append(notices, name+": "+problems[name])
		} else {
			f.Fields[at].Error = cmp.Or(f.Fields[at].Error, problems[name])
		}
	}
	f.Notice = strings.TrimSpace(strings.Join(notices, " "))
	return f
}

// Again returns a form that sends the same values again.
func Again(sent url.Values) Form {
	f := Form{Notice: "What you sent is kept here.", Buttons: []Button{{Text: "Send it again"}}}
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		for _, value := range sent[name] {
			f.Fields = append(f.Fields, Field{Name: name, Type: "hidden", Value: value})
		}
	}
	return f
}

// Digest returns a short text that is equal for forms with the same values.
func (f Form) Digest() string {
	sum := sha256.New()
	for _, field := range f.Fields {
		if field = field.plain(); field.Type != "hidden" && field.Type != "password" {
			fmt.Fprintf(sum, "%q%q", field.Name, field.Value)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)[:10])
}

// FormError is the reason for rejecting a form before any of it is used.
type FormError struct {
	Status int    // of HTTP
	Words  string // for the visitor
}

func (e *FormError) Error() string { return e.Words }

// maxDrained bytes of a form that is too long are read and dropped.
const maxDrained = 16 << 20

// ReadForm returns the fields in the body of r, nil for a GET or HEAD. The error is a *FormError if
// the body has more than limit bytes or cannot be parsed, or for another type or method.
func ReadForm(w http.ResponseWriter, r *http.Request, limit int64) (url.Values, error) {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return nil, nil
	case http.MethodPost:
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		return nil, &FormError{http.StatusMethodNotAllowed, "This address takes no requests of this kind."}
	}
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/x-www-form-urlencoded" {
		return nil, &FormError{http.StatusUnsupportedMediaType, "This is not a form as a page of this site sends it. Nothing was changed."}
	}
	body := r.Body
	r.Body = http.MaxBytesReader(w, body, limit)
	err := r.ParseForm()
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		// A browser that is still sending would show a broken connection. Errors do not matter:
		// then it has stopped.
		_, _ = io.CopyN(io.Discard, body, maxDrained)
		size := bytesOf(limit)
		return nil, &FormError{http.StatusRequestEntityTooLarge, fmt.Sprintf("This form is too long: at most %s can be sent. Nothing was changed. Go back to your text and shorten it.", size.Words())}
	}
	if err != nil {
		return nil, &FormError{http.StatusBadRequest, "This form could not be read. Nothing was changed. Go back and send it again."}
	}
	return r.PostForm, nil
}
