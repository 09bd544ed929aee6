package inspect_test

import (
	"bytes"
	"context"
	"errors"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/index"
	"github.com/ringtree/ringtree/inspect"
	"github.com/ringtree/ringtree/internal/proof"
	"github.com/ringtree/ringtree/kvmodel"
	"github.com/ringtree/ringtree/kvmodel/memkv"
)

type desk struct {
	ID, Name, Text string
	Count          int64
	Small          uint8
	Ratio          float32
	Open           bool
	At             time.Time
	Secret         string // private
	Tags           []string
	Version        int64
	Created        time.Time
}

func (d *desk) Validate() error {
	if d.Name == "bad" {
		return errors.New("no desk is bad")
	}
	return nil
}

type desks struct {
	*kvmodel.Records[desk, string]
	pages http.Handler
	log   *bytes.Buffer
}

func newDesks(t *testing.T, editable bool) desks {
	t.Helper()
	db := open(t, shared(memkv.New(memkv.Options{})))
	t.Cleanup(func() { db.Close(context.Background()) })
	r := kvmodel.NewRecords(db, kvmodel.Schema[desk, string]{
		Name: "Desk", Version: 1, ID: func(d *desk) string { return d.ID }, SetID: func(d *desk, id string) { d.ID = id },
		Key: kvmodel.StringKey[string](), Codec: packed[desk]{}, Private: []string{"Secret"},
		Revision: func(d *desk) *int64 { return &d.Version }, Created: func(d *desk) *time.Time { return &d.Created },
	})
	index.NewUnique(r, kvmodel.IndexSpec[desk, string]{
		Name: "ByName", Def: "unique Name", Fields: []string{"Name"}, Key: kvmodel.StringKey[string](),
		Values: func(d *desk) []string { return []string{d.Name} },
	})
	must(t, r.Create(t.Context(), &desk{
		ID: "d1", Name: "oak", Text: "one\ntwo", Count: -3, Small: 7, Ratio: 0.1, At: time.Unix(1_700_000_000, 5).UTC(), Secret: "key", Tags: []string{"a"},
	}))
	must(t, r.Create(t.Context(), &desk{ID: "d2", Name: "elm"}))
	must(t, db.Flush(t.Context()))
	var log bytes.Buffer
	h, err := inspect.Handler(inspect.New(db), inspect.HandlerOptions{
		Base: "/inspect", Editable: editable, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Guard: func(r *http.Request) error {
			_, err := r.Cookie("session")
			return err
		},
	})
	must(t, err)
	return desks{r, h, &log}
}

func (d desks) ask(form url.Values, path string, header ...string) (status int, page string) {
	r := httptest.NewRequest("GET", path, nil)
	if form != nil {
		r = httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	r.AddCookie(&http.Cookie{Name: "session", Value: "1"})
	w := httptest.NewRecorder()
	d.pages.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

const deskPage = "/inspect/record?model=Desk&id=d1"

var formInput = regexp.MustCompile(`(?s)<input [^>]*?name="([^"]*)"[^>]*?value="([^"]*)"|<textarea [^>]*?name="([^"]*)"[^>]*>\n?(.*?)</textarea>`)

// form returns the form as a browser would send it.
func form(t *testing.T, page string) url.Values {
	t.Helper()
	_, page, found := strings.Cut(page, `<form method="post"`)
	if !found {
		t.Fatal("there is no form")
	}
	page, _, _ = strings.Cut(page, "</form>")
	all := url.Values{}
	for _, in := range formInput.FindAllStringSubmatch(strings.ReplaceAll(page, `value=`, ` value=`), -1) {
		all.Set(in[1]+in[3], strings.ReplaceAll(html.UnescapeString(in[2]+in[4]), "\n", "\r\n"))
	}
	return all
}

func TestEdit_WritesWhatTheFormSaysAndNothingElse(t *testing.T) {
	d := newDesks(t, true)
	before, err := d.Get(t.Context(), "d1")
	must(t, err)
	_, page := d.ask(nil, deskPage)
	f := form(t, page)
	if code, _ := d.ask(f, "/inspect/record"); code != http.StatusSeeOther || d.log.Len() > 0 {
		t.Errorf("a form without changes: status %d, log %s", code, d.log)
	}
	same, err := d.Get(t.Context(), "d1")
	must(t, err)
	if diff := cmp.Diff(before, same); diff != "" {
		t.Error("a form without changes has changed", diff)
	}
	for name, value := range map[string]string{
		"Name": "ash", "Text": "three\r\nfour", "Count": "-9000000000", "Small": "255", "Ratio": "2.5", "Open": "true", "At": "2026-03-01T12:00:00Z",
	} {
		if !f.Has("field." + name) {
			t.Errorf("%s cannot be edited", name)
		}
		f.Set("field."+name, value)
	}
	code, _ := d.ask(f, "/inspect/record")
	got, err := d.Get(t.Context(), "d1")
	must(t, err)
	want := *before
	want.Name, want.Text, want.Count, want.Small, want.Ratio, want.Open = "ash", "three\nfour", -9_000_000_000, 255, 2.5, true
	want.At, want.Version = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), before.Version+1
	if diff := cmp.Diff(&want, got); code != http.StatusSeeOther || diff != "" {
		t.Errorf("status %d (-want +got)\n%s", code, diff)
	}
	if log := d.log.String(); !strings.Contains(log, `msg="record edited" model=Desk id=d1`) || !strings.Contains(log, "Name") || strings.Contains(log, "ash") {
		t.Errorf("the log says %q", log)
	}
	must(t, d.DB().Flush(t.Context()))
	if r, err := inspect.New(d.DB()).Check(t.Context(), inspect.CheckOptions{}); err != nil || !r.Well() {
		t.Errorf("a check finds %v, %v", r.Faults, err)
	}
}

func TestEdit_ThereIsNoFieldForWhatIsPrivateOrFilledIn(t *testing.T) {
	d := newDesks(t, true)
	_, page := d.ask(nil, deskPage)
	f := form(t, page)
	before, err := d.Get(t.Context(), "d1")
	must(t, err)
	for _, name := range []string{"ID", "Secret", "Tags", "Version", "Created"} {
		if f.Has("field." + name) {
			t.Errorf("%s has a field", name)
		}
		f.Set("field."+name, "9")
	}
	d.ask(f, "/inspect/record")
	after, err := d.Get(t.Context(), "d1")
	must(t, err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error("fields without an input were changed", diff)
	}
}

func TestEdit_AConflictIsShownAndNothingOverwritten(t *testing.T) {
	d := newDesks(t, true)
	_, page := d.ask(nil, deskPage)
	f := form(t, page)
	_, err := d.Update(t.Context(), "d1", func(v *desk) error { v.Count = 12; return nil })
	must(t, err)
	f.Set("field.Text", "mine")
	code, page := d.ask(f, "/inspect/record")
	if words := faceWords(page); code != http.StatusConflict || !strings.Contains(words, "has changed since") || !strings.Contains(words, "Text: mine") {
		t.Errorf("status %d: %s", code, words)
	}
	if now := form(t, page); now.Get("field.Count") != "12" || now.Get("field.Text") != "one\r\ntwo" {
		t.Errorf("the form has %v", now)
	}
	got, err := d.Get(t.Context(), "d1")
	must(t, err)
	if got.Text != "one\ntwo" || got.Count != 12 {
		t.Errorf("the record is %+v", got)
	}
}

func TestEdit_ARefusedFormKeepsTheRevThatWasShown(t *testing.T) {
	d := newDesks(t, true)
	_, page := d.ask(nil, deskPage)
	f := form(t, page)
	f.Set("field.Count", "many")
	_, page = d.ask(f, "/inspect/record")
	proof.Done(t)(d.Update(t.Context(), "d1", func(v *desk) error { v.Name = "ash"; return nil }))
	f = form(t, page)
	f.Set("field.Count", "4")
	if code, _ := d.ask(f, "/inspect/record"); code != http.StatusConflict {
		t.Errorf("status %d", code)
	}
}

func TestEdit_HasTheChecksOfThePutOfTheApp(t *testing.T) {
	d := newDesks(t, true)
	_, page := d.ask(nil, deskPage)
	for field, tried := range map[string]struct {
		value string
		code  int
		says  string
	}{
		"Name":  {"bad", 400, "no desk is bad"},
		"Count": {"many", 400, `Count: "many" is not a whole number.`},
		"Small": {"7.5", 400, "Small"},
		"At":    {"today", 400, "is not a time such as"},
		"Open":  {"perhaps", 400, "is not true or false"},
	} {
		f := form(t, page)
		f.Set("field."+field, tried.value)
		code, got := d.ask(f, "/inspect/record")
		if code != tried.code || !strings.Contains(html.UnescapeString(faceWords(got)), tried.says) {
			t.Errorf("%s: status %d: %s", field, code, faceWords(got))
		}
		if form(t, got).Get("field."+field) != tried.value {
			t.Errorf("%s: the form has lost what was entered", field)
		}
	}
	f := form(t, page)
	f.Set("field.Name", "elm")
	if code, got := d.ask(f, "/inspect/record"); code != http.StatusConflict || !strings.Contains(faceWords(got), "Name") {
		t.Errorf("a name that another has: status %d: %s", code, faceWords(got))
	}
	f.Set("id", "none")
	if code, _ := d.ask(f, "/inspect/record"); code != http.StatusNotFound && code != http.StatusConflict {
		t.Errorf("a record that is not there: status %d", code)
	}
	got, err := d.Get(t.Context(), "d1")
	must(t, err)
	if got.Version != 1 || d.log.Len() > 0 {
		t.Errorf("something was written: %+v, log %s", got, d.log)
	}
}

func TestEdit_AFormOfAnotherSiteIsRefused(t *testing.T) {
	d := newDesks(t, true)
	_, page := d.ask(nil, deskPage)
	f := form(t, page)
	f.Set("field.Text", "theirs")
	for _, header := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "", "Origin", "https://evil.example"}, {"Sec-Fetch-Site", ""},
		{"Sec-Fetch-Site", "", "Origin", "null"},
	} {
		if code, _ := d.ask(f, "/inspect/record", header...); code != http.StatusForbidden {
			t.Errorf("%q: status %d", header, code)
		}
	}
	if code, _ := d.ask(f, "/inspect/record", "Sec-Fetch-Site", "", "Origin", "http://example.com"); code != http.StatusSeeOther {
		t.Errorf("a form of this site in an older browser: status %d", code)
	}
	if code, _ := d.ask(f, "/inspect/record", "Cookie", ""); code != http.StatusForbidden && code != http.StatusConflict {
		t.Errorf("without a session: status %d", code)
	}
}

func TestEdit_WithoutEditableThereIsNoForm(t *testing.T) {
	d := newDesks(t, false)
	code, page := d.ask(nil, deskPage)
	if code != 200 || strings.Contains(page, `method="post"`) {
		t.Errorf("status %d: %s", code, page)
	}
	if code, _ := d.ask(url.Values{"model": {"Desk"}, "id": {"d1"}, "rev": {"1"}, "field.Name": {"ash"}}, "/inspect/record"); code != http.StatusMethodNotAllowed {
		t.Errorf("a form that was made up: status %d", code)
	}
}
