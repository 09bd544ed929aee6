package templates

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestChanged_SaysWhatReplacesWhat(t *testing.T) {
	for _, test := range []struct {
		before, after string
		want          Changes
	}{
		{"", "", nil},
		{"same", "same", Changes{{"same", "same"}}},
		{"", "new", Changes{{"", "new"}}},
		{"one two three", "one 2 three", Changes{{"one ", "one "}, {"two ", "2 "}, {"three", "three"}}},
		{"a b c d e", "a x c e", Changes{{"a ", "a "}, {"b ", "x "}, {"c ", "c "}, {"d ", ""}, {"e", "e"}}},
		{"a c", "a b c", Changes{{"a ", "a "}, {"", "b "}, {"c", "c"}}},
	} {
		if diff := cmp.Diff(test.want, Changed(test.before, test.after)); diff != "" {
			t.Errorf("%q to %q: changes mismatch (-want +got):\n%s", test.before, test.after, diff)
		}
	}
}

func TestChanges_Excerpt_ShowsEachChangeWithWordsAround(t *testing.T) {
	long := strings.Repeat("x ", 100)
	got := Changed(long+"one "+long+"two "+long, long+"1 "+long+"2 "+long).Excerpt(600)
	head, tail := strings.Repeat("x ", 20), strings.Repeat(" x", 19)+" "
	stays := func(text string) Change { return Change{text, text} }
	want := Changes{
		stays("…" + tail), {"one ", "1 "}, stays(head + "…" + tail), {"two ", "2 "}, stays(head + "…"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("excerpt mismatch (-want +got):\n%s", diff)
	}
}

func TestChanges_Excerpt_IsShort(t *testing.T) {
	for _, c := range []Changes{
		Changed(strings.Repeat("茶", 5000), strings.Repeat("碗", 5000)),
		Changed(strings.Repeat("a b ", 300), strings.Repeat("a c ", 300)),
	} {
		n := 0
		for _, change := range c.Excerpt(100) {
			n += len([]rune(change.Before)) + len([]rune(change.After))
		}
		if n > 350 {
			t.Errorf("want about 100 characters, got %d", n)
		}
	}
}
