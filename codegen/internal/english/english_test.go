package english

import "testing"

func TestNearest_TakesSlipsOnly(t *testing.T) {
	words := []string{"id", "unique", "list", "timeline", "version"}
	for wrong, want := range map[string]string{
		"uniqe": "unique", "unqiue": "unique", "Unique": "unique", "lst": "list", "verison": "version", "idd": "id",
		"": "", "zebra": "", "rank": "", "x": "",
	} {
		if got := Nearest(wrong, words); got != want {
			t.Errorf("nearest(%q) = %q, want %q", wrong, got, want)
		}
	}
}

func TestOr_PutsCommasBeforeTheLastWord(t *testing.T) {
	for want, words := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := Or(words); got != want {
			t.Errorf("Or(%q) = %q, want %q", words, got, want)
		}
	}
}
