package templates

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRead_TakesWhatFieldsShow(t *testing.T) {
	at := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	problems := map[string]string{}
	for _, test := range []struct{ want, got any }{
		{"a\nb\n\nc", ReadText("a\r\nb\r\n\r\nc")},
		{[]string{"winter", "north sea"}, ReadWords(" winter,north sea ,, ")},
		{[]string(nil), ReadWords(" ")},
		{int64(-7), ReadNumber[int64](problems, "n", " -7 ")},
		{uint8(255), ReadNumber[uint8](problems, "n", "255")},
		{0, ReadNumber[int](problems, "n", "")},
		{12.5, ReadDecimal[float64](problems, "n", "12.50")},
		{float32(0), ReadDecimal[float32](problems, "n", "")},
		{at, ReadTime(problems, "n", TimeValue(at))},
		{time.Time{}, ReadTime(problems, "n", TimeValue(time.Time{}))},
		{"on", Checked(true)},
		{"", Checked(false)},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("mismatch (-want +got):\n%s", diff)
		}
	}
	if len(problems) > 0 {
		t.Errorf("these are problems: %v", problems)
	}
}

func TestRead_SaysWhatIsWrong(t *testing.T) {
	problems := map[string]string{}
	ReadNumber[int8](problems, "stars", "128")
	ReadNumber[uint](problems, "few", "-1")
	ReadNumber[int](problems, "many", "99999999999999999999")
	ReadDecimal[float64](problems, "price", "dear")
	ReadTime(problems, "since", "yesterday")
	want := map[string]string{
		"stars": "“128” is not a whole number that fits.",
		"few":   "“-1” is not a whole number that fits.",
		"many":  "“99999999999999999999” is not a whole number that fits.",
		"price": "“dear” is not a number.",
		"since": "“yesterday” is not a time.",
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("problems mismatch (-want +got):\n%s", diff)
	}
}

func TestValuesOf_HasWhatVisitorsSee(t *testing.T) {
	got := ValuesOf([]Field{
		{Name: "id", Type: "hidden", Value: "k3Qz"},
		{Name: "title", Label: "Title", Value: "Snow"},
		{Name: "password", Label: "Password", Type: "password", Value: "secret"},
		{Name: "body", Label: "Body", Rows: 3, Value: "Again."},
	})
	if diff := cmp.Diff("Title: Snow\nBody: Again.\n", got); diff != "" {
		t.Errorf("text mismatch (-want +got):\n%s", diff)
	}
}

func TestLinksTo_EscapesAddressesAndLeavesOutEmptyTexts(t *testing.T) {
	want := []Link{{"Tag: snow", "/tags/snow"}, {"Tag: a/b?", "/tags/a%2Fb%3F"}}
	if diff := cmp.Diff(want, LinksTo("Tag: ", "/tags/", "snow", "", "a/b?")); diff != "" {
		t.Errorf("links mismatch (-want +got):\n%s", diff)
	}
}
