package templates

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtree/ringtree/internal/proof"
)

// fill types into a field, and returns its value and problem.
func fill(in *Input, typed string) (shown, problem string) {
	f := Form{Fields: []Field{{Name: "field", Of: in}}}
	problems := f.Fill(url.Values{"field": {typed}})
	return f.Fields[0].plain().Value, problems["field"]
}

type (
	kitchen string
	stars   int8
)

func TestInput_TakesWhatWasTyped(t *testing.T) {
	text, none := kitchen(""), kitchen("old")
	tags := []string{"old"}
	few, many, huge := stars(1), int64(1), uint64(1)
	price, small, vegan, not, since := 1.0, float32(1), false, true, time.Time{}
	past, at := time.Unix(0, 0), time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		in    *Input
		typed string
		want  any
		got   any
	}{
		{Line(&text), " Herons ", kitchen("Herons"), &text},
		{Line(&none), "", kitchen(""), &none},
		{Text(&text), "a\r\nb\r\n\r\nc ", kitchen("a\nb\n\nc "), &text},
		{Words(&tags), " winter,north sea ,, ", []string{"winter", "north sea"}, &tags},
		{Words(&tags), " ", []string(nil), &tags},
		{Number(&few), " -7 ", stars(-7), &few},
		{Number(&many), "-9223372036854775808", int64(math.MinInt64), &many},
		{Number(&huge), "18446744073709551615", uint64(math.MaxUint64), &huge},
		{Number(&many), "", int64(0), &many},
		{Decimal(&price), "12.50", 12.5, &price},
		{Decimal(&price), "-1.5e3", -1500.0, &price},
		{Decimal(&small), "0.1", float32(0.1), &small},
		{Decimal(&small), "", float32(0), &small},
		{Check(&vegan), "on", true, &vegan},
		{Check(&not), "", false, &not},
		{Time(&since), "2026-11-01T10:00", at, &since},
		{Time(&past), "", time.Time{}, &past},
	} {
		if _, problem := fill(test.in, test.typed); problem != "" {
			t.Errorf("%q: %s", test.typed, problem)
		}
		proof.NoDiff(t, cmp.Diff(test.want, reflect.ValueOf(test.got).Elem().Interface()), "%q", test.typed)
	}
}

func TestInput_WhatIsWrongIsShownAndLeavesTheVariable(t *testing.T) {
	text, id, tags := "old", "", []string{"old"}
	few, signless, many := int8(1), uint(1), 1
	price, small, since := 1.0, float32(1), time.Unix(0, 0).UTC()
	for _, test := range []struct {
		in          *Input
		typed, want string
	}{
		{Line(&text), "a\nb", "This has to be one line."},
		{Line(&text), strings.Repeat("あ", 1001), "At most 1,000 characters fit here, and this has 1,001."},
		{Line(&text), "a\xffb", "This is not valid text."},
		{Line(&text), "a\x00b", "This has control characters, which cannot be shown."},
		{Text(&text), strings.Repeat("あ", 50_001), "At most 50,000 characters fit here, and this has 50,001."},
		{Text(&text), "\x1b[2J", "This has control characters, which cannot be shown."},
		{Words(&tags), strings.Repeat("a,", 1000), "At most 1,000 fit here, and these are 1,001."},
		{Number(&few), "128", "“128” is not a whole number that fits."},
		{Number(&signless), "-1", "“-1” is not a whole number that fits."},
		{Number(&many), "99999999999999999999", "“99999999999999999999” is not a whole number that fits."},
		{Number(&many), strings.Repeat("9", 1000), "“" + strings.Repeat("9", 40) + "…” is not a whole number that fits."},
		{Decimal(&price), "dear", "“dear” is not a number."},
		{Decimal(&price), "NaN", "“NaN” is not a number."},
		{Decimal(&price), "Inf", "“Inf” is not a number."},
		{Decimal(&price), "-infinity", "“-infinity” is not a number."},
		{Decimal(&price), "0x10", "“0x10” is not a number."},
		{Decimal(&price), "0x1p4", "“0x1p4” is not a number."},
		{Decimal(&price), "1_000", "“1_000” is not a number."},
		{Decimal(&price), "1e999", "“1e999” is not a number."},
		{Decimal(&small), "1e39", "“1e39” is not a number."},
		{Time(&since), "yesterday", "“yesterday” is not a time."},
		{Key(&id), ".", "No address can end in “.”."},
		{Key(&id), " .. ", "No address can end in “..”."},
		{Key(&id), strings.Repeat("a", 201), "At most 200 characters fit here, and this has 201."},
	} {
		shown, problem := fill(test.in, test.typed)
		proof.NoDiff(t, cmp.Diff([]string{test.typed, test.want}, []string{shown, problem}), "%.20q", test.typed)
	}
	type all struct {
		Text, ID string
		Tags     []string
		Few      int8
		Signless uint
		Many     int
		Price    float64
		Small    float32
		Since    time.Time
	}
	want := all{"old", "", []string{"old"}, 1, 1, 1, 1, 1, time.Unix(0, 0).UTC()}
	proof.NoDiff(t, cmp.Diff(want, all{text, id, tags, few, signless, many, price, small, since}), "variables")
}

// A form shows less than a variable may hold.
func TestInput_WhatIsSentBackAsItWasShownChangesNothing(t *testing.T) {
	line, text, tags := " two\nlines ", "a\r\nb\rc", []string{"a, b", " c", ""}
	price, since := math.NaN(), time.Date(2026, 11, 1, 10, 0, 30, 5, time.FixedZone("east", 3600))
	for _, in := range []*Input{Line(&line), Text(&text), Words(&tags), Decimal(&price), Time(&since)} {
		sent := in.value
		if in.rows == 0 {
			sent = strings.NewReplacer("\r", "", "\n", "").Replace(sent)
		} else {
			sent = strings.ReplaceAll(unixLines(sent), "\n", "\r\n")
		}
		if _, problem := fill(in, sent); problem != "" {
			t.Errorf("%q: %s", sent, problem)
		}
	}
	got := []any{line, text, tags, math.IsNaN(price), since.Second(), since.Nanosecond()}
	proof.NoDiff(t, cmp.Diff([]any{" two\nlines ", "a\r\nb\rc", []string{"a, b", " c", ""}, true, 30, 5}, got), "variables")
}

func TestInput_TellsBrowsersItsLimit(t *testing.T) {
	line, text, id, tags, n := "", "", "", []string(nil), 0
	for _, test := range []struct {
		field Field
		want  string
	}{
		{Field{Of: Line(&line)}, `maxlength="1000"`},
		{Field{Of: Line(&line), Max: 120}, `maxlength="120"`},
		{Field{Of: Text(&text)}, `maxlength="50000"`},
		{Field{Of: Words(&tags)}, `maxlength="50000"`},
		{Field{Of: Key(&id)}, `maxlength="200"`},
		{Field{Of: Number(&n)}, `type="number"`},
	} {
		proof.Contains(t, render(t, test.field), test.want)
	}
}

func TestInput_AFormAtItsLimitsIsRead(t *testing.T) {
	texts, sent := make([]string, 6), url.Values{}
	f := Form{}
	for i := range texts {
		name := string(rune('a' + i))
		f.Fields = append(f.Fields, Field{Name: name, Of: Text(&texts[i])})
		sent.Set(name, strings.Repeat("あ", maxText))
	}
	r := httptest.NewRequest("POST", "/", strings.NewReader(sent.Encode()))
	r.Header.Set("Content-Type", urlencoded)
	read, err := ReadForm(httptest.NewRecorder(), r, 4_000_000)
	must(t, err)
	if problems := f.Fill(read); len(problems) > 0 || len(texts[5]) != 3*maxText {
		t.Errorf("problems: %v", problems)
	}
}

func TestKey_StaysOnceItIsThere(t *testing.T) {
	id := "soup"
	f := Form{Fields: []Field{{Name: "id", Of: Key(&id), Required: true}}}
	if problems := f.Fill(url.Values{"id": {"stew"}}); len(problems) > 0 || id != "soup" {
		t.Errorf("the id is %q, with problems %v", id, problems)
	}
	if got := render(t, f.Fields[0]); !strings.Contains(got, `type="hidden"`) || !strings.Contains(got, `value="soup"`) {
		t.Errorf("the field is shown as %s", got)
	}
}

func TestFill_AFieldThatWasNotSentKeepsItsValue(t *testing.T) {
	title, minutes, vegan, tags := "Soup", 10, true, []string{"warm"}
	form := func() Form {
		return Form{Fields: []Field{
			{Name: "title", Of: Line(&title), Required: true}, {Name: "minutes", Of: Number(&minutes)},
			{Name: "vegan", Of: Check(&vegan)}, {Name: "tags", Of: Words(&tags)}, {Name: "plain"},
		}}
	}
	if problems := form().Fill(url.Values{"plain": {"x"}, "other": {"y"}}); len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	proof.NoDiff(t, cmp.Diff([]any{"Soup", 10, true, []string{"warm"}}, []any{title, minutes, vegan, tags}), "variables")
	form().Fill(url.Values{"minutes": {"", "20"}, "vegan": {""}})
	proof.NoDiff(t, cmp.Diff([]any{"Soup", 20, false}, []any{title, minutes, vegan}), "variables")
	proof.NoDiff(t, cmp.Diff(map[string]string{"title": "This is needed."}, form().Fill(url.Values{"title": {" "}})), "problems")
}

// A browser sends nothing for an empty checkbox.
func TestCheck_SaysThatItWasThere(t *testing.T) {
	on := true
	got := render(t, Field{Name: "vegan", Of: Check(&on)})
	hidden, box := strings.Index(got, `<input type="hidden" name="vegan" value="">`), strings.Index(got, `<input type="checkbox" value="on" checked`)
	if hidden < 0 || box < hidden {
		t.Errorf("want a hidden field and then the checkbox, got %s", got)
	}
}

func TestExplain_PutsProblemsWhereVisitorsSeeThem(t *testing.T) {
	f := Form{Notice: "Not saved.", Fields: []Field{{Name: "id", Type: "hidden"}, {Name: "title"}}}
	got := f.Explain(map[string]string{"title": "It is empty.", "id": "It is not one.", "pin": "It is taken."})
	if diff := cmp.Diff([]string{"It is empty.", "Not saved. id: It is not one. pin: It is taken."}, []string{got.Fields[1].Error, got.Notice}); diff != "" {
		t.Errorf("form mismatch (-want +got):\n%s", diff)
	}
}

func TestDigest_IsOfWhatVisitorsSee(t *testing.T) {
	of := func(fields ...Field) string { return Form{Fields: fields}.Digest() }
	first := of(Field{Name: "a", Value: "1"}, Field{Name: "b", Value: "2"})
	for _, same := range []string{
		of(Field{Name: "a", Value: "1"}, Field{Name: "b", Value: "2", Error: "no"}),
		of(Field{Name: "a", Value: "1"}, Field{Name: "id", Type: "hidden", Value: "x"}, Field{Name: "b", Value: "2"}),
	} {
		if same != first {
			t.Error("the digest changes with what visitors do not see")
		}
	}
	for _, other := range []string{
		of(Field{Name: "a", Value: "1"}), of(Field{Name: "a", Value: "1\"\"b\" \"2"}), of(Field{Name: "a", Value: "2"}, Field{Name: "b", Value: "1"}),
	} {
		if other == first {
			t.Error("forms with other values have one digest")
		}
	}
}

func TestValuesOf_HasWhatVisitorsSee(t *testing.T) {
	hot := true
	got := ValuesOf([]Field{
		{Name: "id", Type: "hidden", Value: "k3Qz"},
		{Name: "title", Label: "Title", Value: "Snow"},
		{Name: "password", Label: "Password", Type: "password", Value: "secret"},
		{Name: "body", Label: "Body", Rows: 3, Value: "Again."},
		{Name: "hot", Label: "Hot", Of: Check(&hot)},
	})
	proof.NoDiff(t, cmp.Diff("Title: Snow\nBody: Again.\nHot: on\n", got), "text")
}

// Browsers take . and .. for the way to another address, escaped or not.
func TestLinksTo_EscapesAddressesAndLeavesOutEmptyTexts(t *testing.T) {
	want := []Link{{"Tag: snow", "/tags/snow"}, {"Tag: a/b?", "/tags/a%2Fb%3F"}, {"Tag: ...", "/tags/..."}, {"Tag: .", ""}, {"Tag: ..", ""}}
	proof.NoDiff(t, cmp.Diff(want, LinksTo("Tag: ", "/tags/", "snow", "", "a/b?", "...", ".", "..")), "links")
}

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
