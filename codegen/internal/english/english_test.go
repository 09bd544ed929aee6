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
