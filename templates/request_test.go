package templates

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const urlencoded = "application/x-www-form-urlencoded"

// read has a limit of 1,000 bytes.
func read(method, kind string, body io.Reader) (sent url.Values, status int, words string) {
	r := httptest.NewRequest(method, "/?title=query", body)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	sent, err := ReadForm(httptest.NewRecorder(), r, 1000)
	if refused, ok := err.(*FormError); ok {
		return sent, refused.Status, refused.Words
	}
	return sent, 200, ""
}

func TestReadForm_HasTheFieldsOfTheBodyAlone(t *testing.T) {
	for _, test := range []struct {
		method, kind, body string
		want               url.Values
	}{
		{"GET", "", "", nil},
		{"HEAD", "", "", nil},
		{"GET", urlencoded, "title=body", nil},
		{"POST", urlencoded, "title=body&x=1&x=2", url.Values{"title": {"body"}, "x": {"1", "2"}}},
		{"POST", urlencoded + "; charset=UTF-8", "x=%E3%81%82", url.Values{"x": {"あ"}}},
		{"POST", urlencoded, "", url.Values{}},
	} {
		sent, status, words := read(test.method, test.kind, strings.NewReader(test.body))
		if diff := cmp.Diff(test.want, sent); diff != "" || status != 200 {
			t.Errorf("%s %q: %d %s, mismatch (-want +got):\n%s", test.method, test.body, status, words, diff)
		}
	}
}

func TestReadForm_RefusesWhatItCannotReadWhole(t *testing.T) {
	for _, test := range []struct {
		method, kind, body string
		status             int
		words              string
	}{
		{"POST", urlencoded, "title=%zz", 400, "could not be read"},
		{"POST", urlencoded, "title=a;body=b", 400, "could not be read"},
		{"POST", urlencoded, "title=" + strings.Repeat("a", 1000), 413, "at most 1.0 KB"},
		{"POST", "", "title=a", 415, "not a form"},
		{"POST", "", "", 415, "not a form"},
		{"POST", "text/plain", "title=a", 415, "not a form"},
		{"POST", "application/json", `{"title": "a"}`, 415, "not a form"},
		{"POST", "multipart/form-data; boundary=x", "--x", 415, "not a form"},
		{"POST", ";", "title=a", 415, "not a form"},
		{"PUT", urlencoded, "title=a", 405, "no requests of this kind"},
		{"DELETE", "", "", 405, "no requests of this kind"},
	} {
		sent, status, words := read(test.method, test.kind, strings.NewReader(test.body))
		if sent != nil || status != test.status || !strings.Contains(words, test.words) {
			t.Errorf("%s %s %.20q: %v, %d %s; want %d %s", test.method, test.kind, test.body, sent, status, words, test.status, test.words)
		}
	}
}

func TestReadForm_RefusesABodyThatBreaksOff(t *testing.T) {
	body := io.MultiReader(strings.NewReader("title=a&bo"), broken{})
	if sent, status, _ := read("POST", urlencoded, body); sent != nil || status != 400 {
		t.Errorf("%v, %d", sent, status)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestReadForm_ReadsAFormThatIsTooLongToItsEnd(t *testing.T) {
	body := strings.NewReader("title=" + strings.Repeat("a", 5<<20))
	if _, status, _ := read("POST", urlencoded, body); status != http.StatusRequestEntityTooLarge || body.Len() > 0 {
		t.Errorf("%d, and %d bytes are left", status, body.Len())
	}
}
